// The card of a configuration: its hyperparameters, the scores of all arms, their learning curves.

const OUTCOME_WORDS = ["learned nothing", "between", "good"];
const MOST_CURVES = 40;
const ENDS_ONLY = "Best and last epoch; the epochs between were not recorded";

function unitWords(study, unit) {
  const task = study.tasks.length > 1 ? ", " + study.tasks[study.task[unit]] : "";
  const replicate = study.replicated ? ", replicate " + study.replicate[unit] : "";
  return "Configuration " + study.numberOf(study.configuration[unit]) + replicate + task;
}

function levelWords(study, axis, unit) {
  const entry = study.axes[axis], value = study.valueOf(axis, unit);
  if (entry.stops.length) return Number.isNaN(value) ? NO_VALUE : short(value);
  return value < 0 ? NO_VALUE : entry.levels[value];
}

function outcomeWords(study, found, state, at) {
  if (!(study.flags[at] & PLANNED)) return ["\u2013", "not planned"];
  const status = study.statuses[study.status[at]];
  if (!(study.flags[at] & COUNTED)) return ["\u2013", status];
  const score = Number.isNaN(study.score[at]) ? "\u2013" : scoreWords(study, state, at);
  const ended = status === "diverged" ? " (diverged)" : "";
  return [score, study.primary ? OUTCOME_WORDS[found.outcomes[at]] + ended : status];
}

// A score to four decimals, or to as many as show on which side of the thresholds it is: `score_beside` in Python.
function scoreWords(study, state, at) {
  const value = study.score[at];
  const limits = study.primary ? [thresholdOf(study, state, at), state.levels.good ?? study.levels.good] : [];
  const enough = [4, 5, 6, 7, 8].find((digits) =>
    limits.every((limit) => Math.sign(Number(value.toFixed(digits)) - limit) === Math.sign(value - limit)));
  return minus(value.toFixed(enough ?? 8));
}

function drawCurves(study, state, units) {
  const { epochs, low, high } = study.curves, trials = study.units * study.width;
  if (!epochs.length) return null;
  const frame = { width: 300, height: 172, left: 42, right: 290, top: 8, bottom: 134 };
  // As long as these trials were trained.
  const trained = epochs.filter((_, bin) => units.some((unit) =>
    study.arms.some((_, arm) => study.steps[bin * trials + unit * study.width + arm] !== 255)));
  if (!trained.length) return null;
  const x = linearScale(trained[0], trained[trained.length - 1], frame.left, frame.right);
  const y = linearScale(low, high, frame.bottom, frame.top), svg = chart(frame, "Learning curves: " + study.metric + " by epoch");
  drawAxes(svg, frame, x, y, "epoch", "", 5);
  const own = study.threshold && units.length === 1 ? study.arms.map((_, arm) => units[0] * study.width + arm) : [];
  drawLevels(study, state, svg, frame, y, "y", new Set(own.filter((at) => counts(study, at)).map((at) => thresholdOf(study, state, at))));
  for (let arm = 0; arm < study.width; arm++) {
    let path = "";
    for (const unit of units) {
      // Between two epochs alone nothing was measured, so that no line joins them.
      let pen = "M";
      epochs.forEach((epoch, bin) => {
        const step = study.steps[bin * trials + unit * study.width + arm];
        if (step === 255) return;
        path += `${pen}${x(epoch).toFixed(1)} ${y(low + (high - low) * step / 254).toFixed(1)}`;
        // A curve of a single epoch is a dot.
        if (pen === "M") path += "h0";
        if (!study.curves.ends_only) pen = "L";
      });
    }
    const kind = study.curves.ends_only ? "dots" : "line";
    svg.append(draw("path", { class: `${kind} arm${arm % 8}${units.length > 1 ? " thin" : ""}`, d: path }));
  }
  if (!study.curves.ends_only) return svg;
  return make("figure", { class: "ends-only" }, make("figcaption", {}, ENDS_ONLY), svg);
}

// The selected units that the restriction keeps, in order.
function keptUnits(study, found, selected) {
  const { width } = study, kept = (unit) => found.kept.subarray(unit * width, (unit + 1) * width).some(Boolean);
  return [...selected].filter(kept).sort((a, b) => a - b);
}

// `35 configurations selected, 12 of them kept, number 2 shown`; nothing without a selection.
function selectionWords(study, kept, all, place) {
  if (!all) return "";
  const words = plural(all, study.replicated || study.tasks.length > 1 ? "point" : "configuration") + " selected";
  return words + (kept === all ? "" : ", " + kept + " of them kept") + (place ? ", number " + place + " shown" : "");
}

function table(heads, rows) {
  const names = heads.map((head) => make("th", { scope: "col" }, head));
  return make("table", {}, make("thead", {}, make("tr", {}, ...names)), make("tbody", {}, ...rows));
}

// A line with the name and the score of every arm, which unfolds to all there is to say. It stands under the plots and
// covers little of them, or beside them in a wide window, unfolded.
function makeCard(study, box) {
  const wide = matchMedia("(min-width: 98rem)"), title = make("h3"), brief = make("span", { class: "brief" });
  const told = make("div", { class: "told" }), hint = make("p", {}, "Point at, tap or focus a point to see its configuration here; " +
    "click it or draw a box to select. The same configurations light up everywhere.");
  const details = make("details", {}, make("summary", {}, title, " ", brief), told);
  const unfold = () => { details.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  return (found, state, shown) => {
    if (shown === null && !state.selected.size) return box.replaceChildren(hint);
    const units = keptUnits(study, found, state.selected);
    const [name, scores, ...rest] = shown === null ? cardOfSelection(study, found, state, units) : cardOfOne(study, found, state, shown);
    title.textContent = name;
    brief.replaceChildren(...study.arms.flatMap((arm, place) =>
      [make("span", {}, swatch(place), make("span", { class: "arm-name" }, arm + " "), scores[place]), " "]));
    told.replaceChildren(...rest);
    if (details.parentElement !== box) box.replaceChildren(details);
  };
}

// The name of a card, every arm's score, and what it unfolds to.
function cardOfOne(study, found, state, one) {
  const values = study.axes.flatMap((entry, axis) => [make("dt", {}, entry.label), make("dd", {}, levelWords(study, axis, one))]);
  const outcomes = study.arms.map((_, arm) => outcomeWords(study, found, state, one * study.width + arm));
  const rows = study.arms.map((name, arm) => {
    const at = one * study.width + arm, own = study.threshold && counts(study, at) ? thresholdOf(study, state, at).toFixed(4) : "\u2013";
    return make("tr", {}, make("th", { scope: "row" }, swatch(arm), named(name)),
      ...[...outcomes[arm], ...(study.threshold ? [own] : [])].map((words) => make("td", {}, words)));
  });
  const heads = ["Arm", "Score", study.primary ? "Outcome" : "Status", ...(study.threshold ? ["Threshold"] : [])];
  const scores = outcomes.map(([score, status]) => (score === "\u2013" ? status : score));
  return [unitWords(study, one), scores, make("dl", {}, ...values), table(heads, rows), drawCurves(study, state, [one]) ?? ""];
}

function cardOfSelection(study, found, state, units) {
  const means = [], rows = study.arms.map((name, arm) => {
    const counted = units.map((unit) => unit * study.width + arm).filter((at) => counts(study, at));
    const share = (code) => counted.filter((at) => found.outcomes[at] === code).length + " of " + counted.length;
    means.push(counted.length ? minus(meanOf(counted.map((at) => study.filled[at])).toFixed(4)) : "\u2013");
    return make("tr", {}, make("th", { scope: "row" }, swatch(arm), named(name)), make("td", {}, means[arm]),
      ...(study.primary ? [make("td", {}, share(0)), make("td", {}, share(2))] : []));
  });
  const heads = ["Arm", "Mean", ...(study.primary ? ["Learned nothing", "Good"] : [])];
  const first = `${study.curves.ends_only ? "Epochs" : "Learning curves"} of the first ${MOST_CURVES}.`;
  return ["Means of the selection", means, table(heads, rows), drawCurves(study, state, units.slice(0, MOST_CURVES)) ?? "",
    units.length > MOST_CURVES ? make("p", { class: "key" }, first) : ""];
}
