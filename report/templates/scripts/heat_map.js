// A heat map of two hyperparameters: a fraction, mean score or mean difference in each cell, and over how many.

const BINS = 5;

function heatChoices(study) {
  const choices = [];
  study.compared.forEach(([a, b], pair) => {
    choices.push({ key: "d" + pair, words: `mean difference, ${study.arms[b]} \u2212 ${study.arms[a]}`, pair: [a, b] });
  });
  study.arms.forEach((name, arm) => {
    if (study.primary) choices.push({ key: "n" + arm, words: name + ": learned nothing", arm, code: 0 });
    if (study.primary) choices.push({ key: "g" + arm, words: name + ": good", arm, code: 2 });
    choices.push({ key: "s" + arm, words: name + ": mean score", arm });
  });
  return choices.filter((choice) => study.paired || !choice.pair);
}

// The labels of an axis's cells, and in which of them a unit is (-1: none).
function cellsOf(study, axis) {
  const entry = study.axes[axis];
  if (!entry.stops.length) return { labels: entry.levels, of: (unit) => study.valueOf(axis, unit) };
  const scale = axisScale(study, axis, 0, BINS), first = entry.stops[0], last = entry.stops[entry.stops.length - 1];
  const edges = Array.from({ length: BINS + 1 }, (_, at) => (at === 0 ? first : at === BINS ? last : scale.invert(at)));
  return {
    labels: edges.slice(1).map((end, at) => short(Number(edges[at].toPrecision(2))) + " to " + short(Number(end.toPrecision(2)))),
    of: (unit) => {
      const value = study.valueOf(axis, unit);
      return Number.isNaN(value) ? -1 : Math.max(0, edges.slice(1, -1).filter((edge) => value > edge).length);
    },
  };
}

function heatCells(study, found, [xAxis, yAxis, key]) {
  const choice = heatChoices(study).find((each) => each.key === key), { width } = study;
  const x = cellsOf(study, xAxis), y = cellsOf(study, yAxis), cells = y.labels.map(() => x.labels.map(() => [[], []]));
  for (let unit = 0; unit < study.units; unit++) {
    const column = x.of(unit), row = y.of(unit), arms = choice.pair || [choice.arm], places = arms.map((arm) => unit * width + arm);
    if (column < 0 || row < 0 || !places.every((at) => found.kept[at] && counts(study, at))) continue;
    const scores = places.map((at) => study.filled[at]);
    const value = choice.pair ? scores[1] - scores[0] : choice.code === undefined ? scores[0] : Number(found.outcomes[places[0]] === choice.code);
    cells[row][column][0].push(value);
    cells[row][column][1].push(study.configuration[unit]);
  }
  const means = cells.map((row) => row.map(([values, owners]) => ({
    n: grouped(values, owners).k, value: values.length ? meanShare(values, owners) : null,
  })));
  return { choice, x, y, means };
}

function makeHeatMap(study, box, act) {
  if (study.axes.length < 2) return () => {};
  const names = study.axes.map((entry) => entry.label), choices = heatChoices(study);
  const change = (side) => (chosen) => act.change((state) => {
    const heat = [...(state.heat || [0, 1, choices[0].key])];
    if (side < 2 && heat[1 - side] === chosen) heat[1 - side] = heat[side];
    heat[side] = side < 2 ? chosen : choices[chosen].key;
    state.heat = heat;
  });
  const pickers = [chooser("across", names, change(0)), chooser("down", names, change(1)),
    chooser("show", choices.map((choice) => choice.words), change(2))];
  const place = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Heat map" });
  const details = make("details", { class: "heat" }, make("summary", {}, "Heat map of two hyperparameters"),
    make("div", { class: "choices" }, ...pickers.map((picker) => picker.label)), place);
  details.addEventListener("toggle", () => act.change((state) => {
    if (details.open && !state.heat) state.heat = [0, 1, choices[0].key];
    if (!details.open) state.heat = null;
  }));
  box.append(details);
  return (found, state) => {
    if (details.open !== Boolean(state.heat)) details.open = Boolean(state.heat);
    if (!state.heat) return;
    const { choice, x, y, means } = heatCells(study, found, state.heat);
    pickers.forEach((picker, side) => {
      picker.select.value = side < 2 ? state.heat[side] : choices.findIndex((each) => each.key === state.heat[2]);
    });
    const values = means.flat().flatMap((cell) => (cell.value === null ? [] : [cell.value]));
    const largest = Math.max(1e-12, ...values.map(Math.abs)), least = Math.min(...values);
    const strength = (value) => {
      if (choice.pair) return Math.abs(value) / largest;
      return choice.code === undefined ? (value - least) / (largest - least || 1) : value;
    };
    const colour = (value) => (choice.pair ? choice.pair[Number(study.sign * value > 0)] : choice.arm) % 8;
    const decimal = (value) => (Math.abs(value) >= 1e6 ? short(value) : minus(value.toFixed(3)));
    const words = (value) => (choice.pair ? signed(value, 3) : choice.code === undefined ? decimal(value) : percent(value));
    const rows = means.map((row, at) => make("tr", {}, make("th", { scope: "row" }, y.labels[at]), ...row.map((cell) => {
      if (cell.value === null) return make("td", { class: "none" }, "\u2013");
      const shown = make("td", { class: "heat-arm" + colour(cell.value) }, words(cell.value), make("small", {}, "n = " + cell.n));
      shown.style.setProperty("--strength", (55 * strength(cell.value)).toFixed(1) + "%");
      return shown;
    })));
    const over = found.tasks.length > 1 ? `, over ${found.tasks.length} tasks together` : "";
    const caption = `${choice.words}, by ${names[state.heat[0]]} (across) and ${names[state.heat[1]]} (down)${over}; n is the number of configurations`;
    place.replaceChildren(make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, make("td", {}),
      ...x.labels.map((label) => make("th", { scope: "col" }, label)))), make("tbody", {}, ...rows)));
  };
}
