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

function showComparisons(study, found, box) {
  const difference = (value, low, high, write) => {
    if (value === null || value === undefined) return "\u2013";
    return write(value) + (low === null ? "" : " [" + write(low) + " to " + write(high) + "]");
  };
  const points = (value) => signed(100 * value, 1), plain = (value) => signed(value, 3);
  const rows = found.paired.map((entry) => [entry, study.arms[entry.arms[1]] + " \u2212 " + study.arms[entry.arms[0]],
    entry.outcome.replace("_", " ") + ", points", difference(...turned(entry.difference, entry), points)]);
  for (const entry of found.scores) {
    const what = "mean " + study.metric + (study.tasks.length > 1 ? ", SDs" : "");
    rows.push([entry, study.arms[entry.arms[1]] + " \u2212 " + study.arms[entry.arms[0]], what,
      difference(...turned(entry.mean_difference, entry), plain)]);
  }
  const several = study.compared.length > 1;
  box.replaceChildren(...rows.map(([entry, arms, what, words]) => make("tr", {},
    make("th", { scope: "row" }, arms), make("td", {}, what), make("td", {}, words),
    study.watched ? null : make("td", {}, pNumber(entry.p_value)),
    study.watched || !several ? null : make("td", {}, pNumber(entry.p_adjusted)))));
}

// A difference as the second arm minus the first, as everywhere on the page.
function turned(value, entry) {
  const negative = (number) => (number === null || number === undefined ? null : 0 - number);
  return [negative(value), negative(entry.high), negative(entry.low)];
}

function showProfiles(study, found, state, box) {
  const frame = chartFrame(420, 250), [low, high] = study.range;
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
  const areas = found.profiles.map((entry, arm) => entry && make("li", {}, swatch(arm),
    study.arms[arm] + " " + entry.area.toFixed(3) +
    (entry.area_low === null ? "" : " [" + entry.area_low.toFixed(3) + " to " + entry.area_high.toFixed(3) + "]")));
  box.replaceChildren(make("figcaption", {}, study.sign < 0 ? "Below every threshold" : "Above every threshold"), svg,
    make("p", { class: "key" }, "Area under each line:"), make("ul", { class: "key" }, ...areas.filter(Boolean)));
}
