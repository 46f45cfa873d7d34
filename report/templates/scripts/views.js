// The linked views: pairs of scores, scores along a hyperparameter, parallel coordinates.

const MOST_LINES = 400;
const MOST_ROWS = 12;
const MOST_DOTS = 3000;
const MANY_LINES = 100;
const SHADES = 5;

function makeViews(study, box, act) {
  const views = [];
  if (study.paired && study.width > 1) views.push(pairsView(study, box, act));
  if (study.axes.length) views.push(axisView(study, box, act));
  if (study.axes.length) views.push(parallelView(study, box, act));
  return {
    update: (found, state) => { for (const view of views) view.update(found, state); },
    relevel: (state) => { for (const view of views) view.relevel(state); },
    highlight: (selected, hovered) => { for (const view of views) view.highlight(selected, hovered); },
  };
}

const counts = (study, at) => (study.flags[at] & COUNTED) > 0;
const within = (value, [low, high]) => Math.min(high, Math.max(low, value));

// What crosses are, where there are any.
function crossWords(study) {
  const values = [...new Set(standIns(study))];
  if (!values.length) return "";
  const standing = values.length > 1 ? "a score of its task" : short(values[0]);
  return `A cross marks a trial without a score, such as one that diverged; ${standing} stands in.`;
}

// Draws points, an even sample where there are many, and says so; all of them can be pointed at and selected.
function addDots(svg, points, note) {
  const skip = Math.ceil(points.length / MOST_DOTS), many = skip > 1 ? " many" : "", groups = new Map();
  for (let at = 0; at < points.length; at += skip) {
    const point = points[at], mark = point.stands ? "crosses " : "dots ";
    const name = mark + (point.kept ? "kept arm" + point.arm % 8 : "left-out");
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(point);
  }
  // Those left out below the others, and crosses, which are few, above the dots.
  for (const name of [...groups.keys()].sort().reverse()) {
    svg.append(draw("path", { class: name + many, d: marked(groups.get(name), name.startsWith("crosses") ? CROSS : DOT) }));
  }
  note.textContent = skip > 1 ? `An even sample of the ${points.length.toLocaleString("en")} points is drawn.` : "";
}

// The lines of thresholds in a group of their own, and the function that draws them anew.
function levelLines(study, svg, frame, scales) {
  const group = draw("g");
  svg.append(group);
  return (state) => {
    group.replaceChildren();
    for (const [along, scale] of scales) drawLevels(study, state, group, frame, scale, along);
  };
}

// The thresholds; of those that differ between trials, only the `own` of the trials shown.
function drawLevels(study, state, svg, frame, scale, along, own = []) {
  const common = Object.keys(study.levels).filter((outcome) => !study.threshold || outcome !== "learned_nothing");
  for (const level of [...common.map((outcome) => state.levels[outcome] ?? study.levels[outcome]), ...own]) {
    const at = scale(level);
    const [low, high] = along === "x" ? [frame.left, frame.right] : [frame.top, frame.bottom];
    if (at < low || at > high) continue;
    const line = along === "x" ? `M${at} ${frame.top}V${frame.bottom}` : `M${frame.left} ${at}H${frame.right}`;
    svg.append(draw("path", { class: "threshold", d: line }));
  }
}

function pairsView(study, box, act) {
  const figure = make("figure", {}), first = chooser("across", study.arms, (arm) => choose(arm, 0));
  const second = chooser("up", study.arms, (arm) => choose(arm, 1)), range = scoreRange(study);
  figure.append(make("figcaption", {}, "Pairs"), make("div", { class: "choices" }, first.label, second.label));
  const plot = makePlot(figure, "Pairs", act);
  const note = make("p", { class: "key" }), dashed = study.threshold ? " Dashed: good; the thresholds of having learned nothing " +
    "differ between trials, and a point’s card has its own." : "";
  const words = `Each point is ${unitNoun(study)}, in the colour of the arm that scores better. ` + crossWords(study) + dashed;
  figure.append(make("p", { class: "key" }, words), note);
  box.append(figure);
  const choose = (arm, side) => act.change((state) => {
    const pair = [...state.pair];
    if (pair[1 - side] === arm) pair[1 - side] = pair[side];
    pair[side] = arm;
    state.pair = pair;
  });
  let relevel = null;
  return {
    highlight: plot.highlight,
    relevel: (state) => relevel(state),
    update: (found, state) => {
      const [a, b] = state.pair, frame = chartFrame(350, 300, 65);
      [first.select.value, second.select.value] = [a, b];
      const x = linearScale(...range, frame.left, frame.right), y = linearScale(...range, frame.bottom, frame.top);
      const svg = chart(frame, "", { role: null, "aria-hidden": "true" });
      drawAxes(svg, frame, x, y, study.metric + ", " + study.arms[a], [study.metric + ",", study.arms[b]]);
      relevel = levelLines(study, svg, frame, [["x", x], ["y", y]]);
      relevel(state);
      svg.append(draw("path", { class: "edge", d: `M${x(range[0])} ${y(range[0])}L${x(range[1])} ${y(range[1])}` }));
      const points = [];
      for (let unit = 0; unit < study.units; unit++) {
        const p = unit * study.width + a, q = unit * study.width + b;
        if (!counts(study, p) || !counts(study, q)) continue;
        const own = study.filled[p], other = study.filled[q];
        points.push({
          unit, arm: study.sign * own >= study.sign * other ? a : b, kept: found.kept[p] > 0 && found.kept[q] > 0,
          stands: Number.isNaN(study.score[p]) || Number.isNaN(study.score[q]),
          x: x(within(own, range)), y: y(within(other, range)),
        });
      }
      addDots(svg, points, note);
      plot.show({ svg, frame, points }, `Scores of ${study.arms[b]} against ${study.arms[a]}`);
    },
  };
}

function axisView(study, box, act) {
  const figure = make("figure", {}), names = study.axes.map((entry) => entry.label), range = scoreRange(study);
  const by = chooser("along", names, (axis) => act.change((state) => { state.by = axis; }));
  figure.append(make("figcaption", {}, "Score along a hyperparameter"), make("div", { class: "choices" }, by.label));
  const plot = makePlot(figure, "Score along a hyperparameter", act);
  const note = make("p", { class: "key" });
  const arms = make("ul", { class: "key" }, ...study.arms.map((name, arm) => make("li", {}, swatch(arm), named(name))));
  figure.append(arms, make("p", { class: "key" }, `Each point is ${unitNoun(study)}, with one arm. ${crossWords(study)}`), note);
  box.append(figure);
  let relevel = null;
  return {
    highlight: plot.highlight,
    relevel: (state) => relevel(state),
    update: (found, state) => {
      const entry = study.axes[state.by], frame = chartFrame(350, 300), ranged = entry.stops.length > 0;
      by.select.value = state.by;
      const x = axisScale(study, state.by, frame.left, frame.right), y = linearScale(...range, frame.bottom, frame.top);
      const svg = chart(frame, "", { role: null, "aria-hidden": "true" });
      drawAxes(svg, frame, x, y, entry.label + (entry.log ? " (log scale)" : ""), study.metric);
      relevel = levelLines(study, svg, frame, [["y", y]]);
      relevel(state);
      const points = [];
      for (let unit = 0; unit < study.units; unit++) {
        const value = study.valueOf(state.by, unit);
        if (ranged ? Number.isNaN(value) : value < 0) continue;
        for (let arm = 0; arm < study.width; arm++) {
          const at = unit * study.width + arm;
          if (!counts(study, at) || (entry.arm !== null && entry.arm !== arm)) continue;
          const place = ranged ? x(value) : x(value, (arm + 0.5) / study.width - 0.5 + jitter(unit) / study.width);
          points.push({
            unit, arm, kept: found.kept[at] > 0, stands: Number.isNaN(study.score[at]),
            x: place, y: y(within(study.filled[at], range)),
          });
        }
      }
      addDots(svg, points, note);
      plot.show({ svg, frame, points }, `Scores along ${entry.label}`);
    },
  };
}

// A label on a ground of its own, so that no line runs through its letters; it begins at `x`.
function backed(words, x, y, attributes = {}) {
  const width = words.length * LETTER * (attributes.class ? 1.16 : 1.04), middle = x + words.length * LETTER / 2;
  const place = attributes.class ? { x } : { x: middle, "text-anchor": "middle" };
  return [draw("rect", { class: "ground", x: attributes.class ? x - 2 : middle - width / 2 - 2, y: y - 10, width: width + 4, height: 13 }),
    draw("text", { ...place, y, ...attributes }, words)];
}

// Axes lie one below the other, so that every label is written as it is read, on a telephone, too.
function parallelView(study, box, act) {
  const figure = make("figure", {}), range = scoreRange(study), note = make("p", { class: "key" });
  const by = chooser("coloured by the score of", study.arms, (arm) => act.change((state) => { state.shade = arm; }));
  figure.append(make("figcaption", {}, "Parallel coordinates"), make("div", { class: "choices" }, by.label));
  const plot = makePlot(figure, "Parallel coordinates", act);
  // Worse to better, whichever way the metric goes.
  const margin = MARGIN / (1 + 2 * MARGIN) * (range[1] - range[0]), reached = [range[0] + margin, range[1] - margin];
  const ends = (study.sign < 0 ? reached.reverse() : reached).map((end) => short(Number(end.toPrecision(2))));
  const steps = Array.from({ length: SHADES }, (_, shade) => make("span", { class: "step shade" + shade, "aria-hidden": "true" }));
  const scale = make("span", { class: "steps" }, ends[0] + " ", ...steps, " " + ends[1]);
  figure.append(make("p", { class: "key" }, `${study.metric}, worse to better: `, scale), note);
  box.append(figure);
  const hyperparameters = study.axes.slice(0, Math.max(2, MOST_ROWS - study.width));
  const rows = hyperparameters.length + study.width, height = 54;
  const frame = { width: 350, height: rows * height + 8, left: 14, right: 336, top: 0, bottom: rows * height };
  const scales = [
    ...hyperparameters.map((_, axis) => axisScale(study, axis, frame.left, frame.right)),
    ...study.arms.map(() => linearScale(...range, frame.left, frame.right)),
  ];
  const middle = (row) => row * height + 28;
  function places(unit) {
    return scales.map((scale, row) => {
      if (row >= hyperparameters.length) {
        const at = unit * study.width + row - hyperparameters.length;
        return counts(study, at) ? scale(within(study.filled[at], range)) : null;
      }
      const value = study.valueOf(row, unit);
      if (scale.levels) return value < 0 ? null : scale(value, jitter(unit));
      return Number.isNaN(value) ? null : scale(value);
    });
  }
  function trace(unit) {
    let line = "", pen = "M";
    places(unit).forEach((x, row) => {
      if (x === null) return;
      line += `${pen}${x.toFixed(1)} ${middle(row)}`;
      pen = "L";
    });
    return line;
  }
  // Which of the steps from the worst score to the best; -1 without a score.
  function shadeOf(unit, arm) {
    const at = unit * study.width + arm;
    if (!counts(study, at)) return -1;
    const share = (within(study.filled[at], range) - range[0]) / (range[1] - range[0]);
    return Math.min(SHADES - 1, Math.floor(SHADES * (study.sign < 0 ? 1 - share : share)));
  }
  return {
    highlight: plot.highlight,
    relevel: () => {},
    update: (found, state) => {
      const svg = chart(frame, "", { role: null, "aria-hidden": "true" }), lines = [[], []], labels = draw("g");
      by.select.value = state.shade;
      for (let unit = 0; unit < study.units; unit++) {
        let kept = false, counted = false;
        for (let arm = 0; arm < study.width; arm++) {
          kept = kept || found.kept[unit * study.width + arm] > 0;
          counted = counted || counts(study, unit * study.width + arm);
        }
        if (!counted) continue;
        lines[Number(kept)].push(unit);
      }
      const thin = (units) => units.filter((_, at) => at % Math.ceil(units.length / MOST_LINES) === 0);
      svg.append(draw("path", { class: "lines left-out", d: thin(lines[0]).map(trace).join("") }));
      const drawn = thin(lines[1]), many = drawn.length > MANY_LINES ? " many" : "";
      for (let shade = -1; shade < SHADES; shade++) {
        const own = drawn.filter((unit) => shadeOf(unit, state.shade) === shade);
        if (own.length) svg.append(draw("path", { class: `lines kept shade${shade}${many}`, d: own.map(trace).join("") }));
      }
      scales.forEach((scale, row) => {
        const arm = row - hyperparameters.length, y = middle(row);
        const name = arm < 0 ? hyperparameters[row].label : study.metric + ", " + study.arms[arm];
        svg.append(draw("path", { class: "edge" + (arm < 0 ? "" : " line arm" + arm % 8), d: `M${frame.left} ${y}H${frame.right}` }));
        labels.append(...backed(cut(name, 40), frame.left, y - 8, { class: "name" }));
        for (const [place, label] of tickLabels(scale, frame.right - frame.left)) {
          const half = LETTER * label.length / 2, x = Math.min(frame.width - half, Math.max(half, place));
          svg.append(draw("path", { class: "edge", d: `M${place} ${y}v3` }));
          labels.append(...backed(label, x - half, y + 14));
        }
      });
      const shown = Math.min(MOST_LINES, thin(lines[1]).length);
      const all = shown === lines[1].length ? "" : ` ${shown} of ${lines[1].length.toLocaleString("en")} are drawn.`;
      const more = hyperparameters.length < study.axes.length ? ` The first ${hyperparameters.length} hyperparameters.` : "";
      const skips = hyperparameters.some((axis) => axis.missing) ? ` A line skips the axes of which it has ${NO_VALUE}.` : "";
      note.textContent = `Each line is ${unitNoun(study)}.` + all + more + skips;
      const pointsOf = (unit) => places(unit).flatMap((x, row) =>
        (x === null ? [] : [{ unit, arm: row - hyperparameters.length, kept: true, x, y: middle(row) }]));
      let points = null;
      plot.show({ svg, frame, labels, trace, get points() { return points ??= lines[1].flatMap(pointsOf); } }, "Parallel coordinates");
    },
  };
}
