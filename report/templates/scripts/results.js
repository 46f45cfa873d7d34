// The recomputed numbers: fractions, comparisons, and profiles as a picture.

function showFractions(study, found) {
  const said = [];
  for (const cell of document.querySelectorAll("td[data-arm]")) {
    const arm = Number(cell.dataset.arm), entry = found.arms[arm][cell.dataset.outcome];
    cell.querySelector(".share").textContent = shareWords(entry);
    cell.querySelector(".level").setAttribute("width", String(100 * (entry.fraction || 0)));
    if (entry.of) said.push(study.arms[arm] + " " + cell.dataset.outcome.replace("_", " ") + " " + percent(entry.fraction));
  }
  return said;
}

const FAILED = ["failed", "timed out", "out of memory"];

// How many of the trials that are kept count: `_counted` in `report/exploring/section.py`.
function countedWords(study, found) {
  let trials = 0, diverged = 0, missing = 0, failed = 0;
  for (let at = 0; at < found.kept.length; at++) {
    if (!found.kept[at]) continue;
    const status = study.statuses[study.status[at]];
    if (FAILED.includes(status)) failed += 1;
    if (!(study.flags[at] & COUNTED)) continue;
    trials += 1;
    if (status === "diverged") diverged += 1;
    if (Number.isNaN(study.score[at])) missing += 1;
  }
  const several = study.tasks.length > 1, on = several ? " on " + plural(found.tasks.length, "task") : "";
  const standing = several ? "a score that stands in" : short(study.worst[0]) + " stands in";
  return `${plural(trials, "trial")} of ${plural(found.configurations, "configuration")}${on} ${trials === 1 ? "counts" : "count"} here` +
    (diverged ? `, ${diverged} of which diverged` : "") +
    (missing ? ` (in plots and means, ${standing} for the ${missing} without a score)` : "") +
    (failed ? `; ${failed} more failed.` : ".");
}

// Between which thresholds those of the trials lie: `_cells` in `report/exploring/section.py`.
function cellWords(study, state) {
  let low = Infinity, high = -Infinity;
  for (let at = 0; at < study.threshold.length; at++) {
    if (!(study.flags[at] & COUNTED)) continue;
    const own = thresholdOf(study, state, at);
    if (own < low) low = own;
    if (own > high) high = own;
  }
  return low > high ? "" : `, each trial by its own threshold, ${low.toFixed(3)} to ${high.toFixed(3)}`;
}

// What differences can be shown of: the outcomes, then the mean score.
function measures(study) {
  const outcomes = study.primary ? ["learned_nothing", "good"] : [];
  outcomes.sort((a, b) => Number(b === study.primary) - Number(a === study.primary));
  const shares = { learned_nothing: "share that learned nothing", good: "share that is good" };
  return [...outcomes.map((key) => ({ key, words: shares[key], unit: "percentage points", decimals: 1 })),
    { key: "score", words: "mean " + study.metric, unit: null, decimals: 3 }];
}

// A measure with its unit, which for scores changes where a single task is kept.
function measureWords(study, found, measure) {
  if (measure.unit) return measure.words + ", in " + measure.unit;
  if (study.tasks.length < 2) return measure.words;
  return found.standardised ? measure.words + ", in standard deviations of its task" : measure.words + " on " + study.tasks[found.tasks[0]];
}

// What a standard deviation of each task is in the metric's unit.
function deviationWords(study) {
  const each = taskScales(study).map(({ scale }, task) => study.tasks[task] + " " + Number(scale.toPrecision(2)));
  return "Standard deviation of a task: over all configurations of all arms, whatever is kept here (" + each.join(", ") + ").";
}

// Of two arms every difference; of more, those of the chosen measure.
function makeComparisons(study, table, place, act) {
  if (!table) return () => {};
  const known = measures(study), several = study.compared.length > 1, heads = [...table.parentElement.tHead.rows[0].cells];
  const chosen = chooser("Difference in", known.map((each) => each.words), (at) => act.change((state) => { state.measure = known[at].key; }));
  if (several && known.length > 1) place.append(chosen.label);
  const caption = table.parentElement.querySelector("[data-unit]"), note = document.querySelector("[data-deviation]");
  return (found, state) => {
    chosen.select.value = known.findIndex((each) => each.key === state.measure);
    const shown = known.filter((each) => !several || each.key === state.measure), alone = shown.length === 1;
    caption.textContent = alone ? " in the " + measureWords(study, found, shown[0]) : "";
    note.textContent = found.standardised && shown.some((each) => !each.unit) ? deviationWords(study) : "";
    const rows = shown.flatMap((measure) => {
      const scale = measure.key === "score" ? 1 : 100;
      const entries = measure.key === "score" ? found.scores : found.paired.filter((entry) => entry.outcome === measure.key);
      return entries.map((entry) => {
        const [value, low, high] = turned(measure.key === "score" ? entry.mean_difference : entry.difference, entry);
        const write = (number, decimals) => signed(scale * number, decimals);
        const words = value === null ? "\u2013" : withEnds(value, low, high, measure.decimals, write);
        const tests = [pNumber(entry.p_value), ...(several ? [pNumber(entry.p_adjusted)] : []), significantWords(entry)];
        const cells = [...(alone ? [] : [measureWords(study, found, measure)]), words, ...(study.watched ? [] : tests)];
        return make("tr", {}, make("th", { scope: "row" }, named(study.arms[entry.arms[1]]), " \u2212 ", named(study.arms[entry.arms[0]])),
          ...cells.map((cell, at) => make("td", { "data-head": heads[at + 1]?.textContent }, cell)));
      });
    });
    const empty = make("tr", {}, make("td", { colspan: heads.length }, nothingLeft(study)));
    table.replaceChildren(...(found.configurations ? rows : [empty]));
  };
}

// Whether the corrected p-value shows a difference, or why there is none.
function significantWords(entry) {
  const p = entry.p_adjusted ?? entry.p_value;
  return p === null || p === undefined ? "no test: " + entry.why : p < 0.05 ? "yes" : "no";
}

// What stands in place of numbers where a restriction leaves no configuration.
function nothingLeft(study) {
  const ranged = study.axes.some((entry) => entry.stops.length > 0);
  return "No configuration left; tick a value" + (ranged ? " or widen a range." : ".");
}

// A difference as the second arm minus the first, as everywhere on the page.
function turned(value, entry) {
  const negative = (number) => (number === null || number === undefined ? null : 0 - number);
  return [negative(value), negative(entry.high), negative(entry.low)];
}

function showProfiles(study, found, state, box) {
  const frame = chartFrame(350, 300), [low, high] = study.range;
  const x = linearScale(low, high, frame.left, frame.right), y = linearScale(0, 100, frame.bottom, frame.top);
  const svg = chart(frame, "Performance profiles of the configurations kept");
  drawAxes(svg, frame, x, y, "threshold of " + study.metric, "% of configurations " + (study.sign < 0 ? "below" : "above"));
  for (const outcome of Object.keys(study.levels)) {
    const level = state.levels[outcome] ?? study.levels[outcome];
    if (level >= low && level <= high) svg.append(draw("path", { class: "threshold", d: `M${x(level)} ${frame.top}V${frame.bottom}` }));
  }
  const step = (high - low) / (study.grid - 1) / 2;
  found.profiles.forEach((entry, arm) => {
    if (!entry) return;
    let line = `M${x(low)} ${y(100 * entry.fraction[0])}`;
    entry.fraction.forEach((share, at) => {
      const end = x(Math.min(high, Math.max(low, found.grid[at] + step))).toFixed(1);
      if (at > 0 && share !== entry.fraction[at - 1]) line += `V${y(100 * share).toFixed(1)}`;
      if (share !== entry.fraction[at + 1]) line += `H${end}`;
    });
    svg.append(draw("path", { class: "line arm" + arm % 8, d: line, "stroke-dasharray": arm >= 8 ? "5 3" : null }));
  });
  const caption = make("figcaption", {}, study.sign < 0 ? "Below every threshold" : "Above every threshold");
  if (!found.profiles.some(Boolean)) {
    box.replaceChildren(caption, make("p", { class: "key" }, found.configurations ? "No complete pair left." : nothingLeft(study)));
    return;
  }
  const areas = found.profiles.map((entry, arm) => entry && make("li", {}, swatch(arm),
    named(study.arms[arm]), " " + entry.area.toFixed(3) +
    (entry.area_low === null ? "" : " [" + entry.area_low.toFixed(3) + " to " + entry.area_high.toFixed(3) + "]")));
  box.replaceChildren(caption, svg,
    make("p", { class: "key" }, "Area under each line:"), make("ul", { class: "key" }, ...areas.filter(Boolean)),
    study.threshold ? make("p", { class: "key" }, study.dashed) : "");
}
