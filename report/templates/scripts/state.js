// What the reader asks: restriction, thresholds, selection and chosen axes; and the page's address that keeps it.
// #explore?only.rate=0.001..0.1&only.optimizer=sgd&task=mnist&nothing=0.62&good=0.8&pair=0,1&by=rate&select=3-5,9

const LONGEST_ADDRESS = 20000;
const PARTS = ["task", "nothing", "good", "pair", "difference", "by", "shade", "heat", "select"];

function newState(study) {
  return {
    only: new Map(), tasks: null, levels: {}, selected: new Set(),
    pair: study.compared.length ? study.compared[0] : [0, Math.min(1, study.width - 1)],
    measure: measures(study)[0].key,
    by: Math.max(0, study.axes.findIndex((entry) => entry.stops.length > 0)), heat: null,
    shade: 0,
  };
}

const isRestricted = (state) => state.only.size > 0 || state.tasks !== null;
const restrictionOf = (state) => JSON.stringify([[...state.only].map(([axis, rule]) =>
  [axis, rule.low, rule.high, [...rule.levels || []], rule.none]), state.tasks && [...state.tasks]]);
const isSet = (value) => value !== undefined && value !== null;

function unrestrict(state) {
  state.only.clear();
  state.tasks = null;
}

// A rule that keeps everything is no rule.
function restrict(study, state, axis, rule) {
  const entry = study.axes[axis], whole = entry.stops.length
    ? rule.low <= entry.stops[0] && rule.high >= entry.stops[entry.stops.length - 1]
    : rule.levels.size === entry.levels.length;
  if (whole && (rule.none || !entry.missing)) state.only.delete(axis);
  else state.only.set(axis, rule);
}

function addressOf(study, state) {
  const parts = new URLSearchParams();
  for (const [axis, rule] of [...state.only].sort((a, b) => a[0] - b[0])) {
    const entry = study.axes[axis], key = "only." + entry.name;
    if (entry.stops.length) parts.append(key, rule.low + ".." + rule.high);
    else entry.keys.forEach((name, level) => { if (rule.levels.has(level)) parts.append(key, "=" + name); });
    if (rule.none) parts.append(key, "none");
    if (!parts.has(key)) parts.append(key, "nothing");
  }
  if (state.tasks) study.tasks.forEach((name, task) => { if (state.tasks.has(task)) parts.append("task", name); });
  if (state.tasks && !state.tasks.size) parts.append("task", "");
  if (isSet(state.levels.learned_nothing)) parts.set("nothing", state.levels.learned_nothing);
  if (isSet(state.levels.good)) parts.set("good", state.levels.good);
  const fresh = newState(study);
  if (String(state.pair) !== String(fresh.pair)) parts.set("pair", state.pair.join(","));
  if (state.by !== fresh.by) parts.set("by", study.axes[state.by].name);
  if (state.shade !== fresh.shade) parts.set("shade", state.shade);
  if (state.measure !== fresh.measure) parts.set("difference", state.measure);
  if (state.heat) parts.set("heat", state.heat.join(","));
  if (state.selected.size) parts.set("select", rangesOf(state.selected));
  const query = parts.toString();
  return query ? "#explore?" + query : "";
}

function rangesOf(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b), parts = [];
  for (let at = 0; at < sorted.length; at++) {
    const first = sorted[at];
    while (at + 1 < sorted.length && sorted[at + 1] === sorted[at] + 1) at++;
    parts.push(first === sorted[at] ? String(first) : first + "-" + sorted[at]);
  }
  return parts.join(",");
}

// The state that an address describes, and what was `ignored` in it; null if it is none of ours.
function stateOf(study, address) {
  if (!address.startsWith("#explore?") || address.length > LONGEST_ADDRESS) return null;
  const parts = new URLSearchParams(address.slice("#explore?".length)), state = newState(study);
  const number = (text) => (text !== null && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN);
  const ignored = [], wrong = (key, value) => ignored.push(key + "=" + value);
  const place = (text, below) => (/^\d{1,7}$/.test(text) && Number(text) < below ? Number(text) : -1);
  study.axes.forEach((entry, axis) => {
    const values = parts.getAll("only." + entry.name);
    if (!values.length) return;
    const rule = { none: values.includes("none"), levels: new Set() };
    if (entry.stops.length) {
      const range = values.map((value) => value.split("..").map(number)).find((ends) => ends.length === 2);
      if (range && Number.isFinite(range[0]) && Number.isFinite(range[1])) [rule.low, rule.high] = range;
      else if (rule.none || values.includes("nothing")) [rule.low, rule.high] = [Infinity, -Infinity];
      else return values.forEach((value) => wrong("only." + entry.name, value));
    } else {
      for (const value of values) {
        const level = value.startsWith("=") ? entry.keys.indexOf(value.slice(1)) : -1;
        if (level >= 0) rule.levels.add(level);
        else if (value !== "none" && value !== "nothing") wrong("only." + entry.name, value);
      }
      if (!rule.levels.size && !rule.none && !values.includes("nothing")) return;
    }
    restrict(study, state, axis, rule);
  });
  const tasks = new Set(parts.getAll("task").map((name) => study.tasks.indexOf(name)).filter((task) => task >= 0));
  if (parts.has("task") && study.tasks.length && (tasks.size || parts.get("task") === "")) {
    state.tasks = tasks.size === study.tasks.length ? null : tasks;
  }
  for (const name of parts.getAll("task")) if (name !== "" && !study.tasks.includes(name)) wrong("task", name);
  for (const [key, outcome] of [["nothing", "learned_nothing"], ["good", "good"]]) {
    const level = number(parts.get(key));
    if (Number.isFinite(level) && isSet(study.levels[outcome])) state.levels[outcome] = level;
    else if (parts.has(key)) wrong(key, parts.get(key));
  }
  const pair = (parts.get("pair") || "").split(",").map((text) => place(text, study.width));
  if (pair.length === 2 && pair[0] >= 0 && pair[1] >= 0 && pair[0] !== pair[1]) state.pair = pair;
  else if (parts.has("pair")) wrong("pair", parts.get("pair"));
  if (measures(study).some((each) => each.key === parts.get("difference"))) state.measure = parts.get("difference");
  else if (parts.has("difference")) wrong("difference", parts.get("difference"));
  const by = study.axes.findIndex((entry) => entry.name === parts.get("by"));
  if (by >= 0) state.by = by;
  else if (parts.has("by")) wrong("by", parts.get("by"));
  const shade = place(parts.get("shade") || "", study.width);
  if (shade >= 0) state.shade = shade;
  else if (parts.has("shade")) wrong("shade", parts.get("shade"));
  const heat = (parts.get("heat") || "").split(",");
  if (heat.length === 3) {
    const axes = heat.slice(0, 2).map((text) => place(text, study.axes.length)), shown = heatChoices(study).map((c) => c.key);
    if (axes[0] >= 0 && axes[1] >= 0 && axes[0] !== axes[1] && shown.includes(heat[2])) state.heat = [...axes, heat[2]];
  }
  if (parts.has("heat") && !state.heat) wrong("heat", parts.get("heat"));
  for (const part of (parts.get("select") || "").split(",")) {
    const ends = part.split("-").map((text) => place(text, study.units));
    if (ends.length > 2 || ends.some((end) => end < 0)) {
      if (part) wrong("select", part);
      continue;
    }
    for (let unit = ends[0]; unit <= ends[ends.length - 1]; unit++) state.selected.add(unit);
  }
  const known = new Set([...PARTS, ...study.axes.map((entry) => "only." + entry.name)]);
  for (const [key, value] of parts) if (!known.has(key)) wrong(key, value);
  return { state, ignored };
}
