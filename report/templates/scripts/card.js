// The card of a configuration: its hyperparameters, the scores of all arms, their learning curves.

const OUTCOME_WORDS = ["learned nothing", "between", "good"];
const MOST_CURVES = 40;

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

function outcomeWords(study, found, at) {
  if (!(study.flags[at] & PLANNED)) return ["\u2013", "not planned"];
  if (!(study.flags[at] & COUNTED)) return ["\u2013", study.statuses[study.status[at]]];
  const score = Number.isNaN(study.score[at]) ? "\u2013" : minus(study.score[at].toFixed(4));
  return [score, study.primary ? OUTCOME_WORDS[found.outcomes[at]] : study.statuses[study.status[at]]];
}

function drawCurves(study, state, units) {
  const { epochs, low, high } = study.curves, trials = study.units * study.width;
  if (!epochs.length) return null;
  const frame = { width: 300, height: 172, left: 42, right: 290, top: 8, bottom: 134 };
  const x = linearScale(epochs[0], epochs[epochs.length - 1], frame.left, frame.right);
  const y = linearScale(low, high, frame.bottom, frame.top), svg = chart(frame, "Learning curves: " + study.metric + " by epoch");
  drawAxes(svg, frame, x, y, "epoch", "", 3);
  const own = study.threshold && units.length === 1 ? study.arms.map((_, arm) => units[0] * study.width + arm) : [];
  drawLevels(study, state, svg, frame, y, "y", new Set(own.filter((at) => counts(study, at)).map((at) => thresholdOf(study, state, at))));
  for (let arm = 0; arm < study.width; arm++) {
    let path = "";
    for (const unit of units) {
      let pen = "M";
      epochs.forEach((epoch, bin) => {
        const step = study.steps[bin * trials + unit * study.width + arm];
        if (step === 255) return;
        path += `${pen}${x(epoch).toFixed(1)} ${y(low + (high - low) * step / 254).toFixed(1)}`;
        // A curve of a single epoch is a dot.
        if (pen === "M") path += "h0";
        pen = "L";
      });
    }
    svg.append(draw("path", { class: "line arm" + arm % 8 + (units.length > 1 ? " thin" : ""), d: path }));
  }
  return svg;
}

// The selected units that the restriction keeps, in order.
function keptUnits(study, found, selected) {
  const { width } = study, kept = (unit) => found.kept.subarray(unit * width, (unit + 1) * width).some(Boolean);
  return [...selected].filter(kept).sort((a, b) => a - b);
}

function selectionWords(study, kept, all) {
  const words = plural(all, study.replicated ? "run" : "configuration") + " selected";
  return kept === all ? words : words + ", " + kept + " within the restriction";
}

function table(heads, rows) {
  const names = heads.map((head) => make("th", { scope: "col" }, head));
  return make("table", {}, make("thead", {}, make("tr", {}, ...names)), make("tbody", {}, ...rows));
}

function showCard(study, found, state, hovered, box) {
  const one = hovered ?? (state.selected.size === 1 ? [...state.selected][0] : null);
  if (one !== null) {
    const values = study.axes.flatMap((entry, axis) => [make("dt", {}, entry.label), make("dd", {}, levelWords(study, axis, one))]);
    const rows = study.arms.map((name, arm) => {
      const at = one * study.width + arm, own = study.threshold && counts(study, at) ? thresholdOf(study, state, at).toFixed(4) : "\u2013";
      return make("tr", {}, make("th", { scope: "row" }, swatch(arm), name),
        ...[...outcomeWords(study, found, at), ...(study.threshold ? [own] : [])].map((words) => make("td", {}, words)));
    });
    const heads = ["Arm", "Score", study.primary ? "Outcome" : "Status", ...(study.threshold ? ["Threshold"] : [])];
    box.replaceChildren(make("h3", {}, unitWords(study, one)), make("dl", {}, ...values), table(heads, rows), drawCurves(study, state, [one]) ?? "");
    return;
  }
  if (!state.selected.size) {
    box.replaceChildren(make("p", {}, "Point at, tap or focus a point to see its configuration, every arm’s score and the " +
      "learning curves. Click or draw a box to select; the same configurations light up everywhere."));
    return;
  }
  const units = keptUnits(study, found, state.selected), all = state.selected.size;
  const rows = study.arms.map((name, arm) => {
    const counted = units.map((unit) => unit * study.width + arm).filter((at) => counts(study, at));
    const share = (code) => counted.filter((at) => found.outcomes[at] === code).length + " of " + counted.length;
    const mean = counted.length ? minus(meanOf(counted.map((at) => study.filled[at])).toFixed(4)) : "\u2013";
    return make("tr", {}, make("th", { scope: "row" }, swatch(arm), name), make("td", {}, mean),
      ...(study.primary ? [make("td", {}, share(0)), make("td", {}, share(2))] : []));
  });
  const heads = ["Arm", "Mean", ...(study.primary ? ["Learned nothing", "Good"] : [])];
  box.replaceChildren(make("h3", {}, selectionWords(study, units.length, all)),
    table(heads, rows),
    drawCurves(study, state, units.slice(0, MOST_CURVES)) ?? "",
    units.length > MOST_CURVES ? make("p", { class: "key" }, `Learning curves of the first ${MOST_CURVES}.`) : "");
}
