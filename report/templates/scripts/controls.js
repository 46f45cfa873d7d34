// The controls of a restriction: a range with two ends or ticks for each hyperparameter, and ticks for tasks.

function makeControls(study, box, changed) {
  const updates = study.axes.map((_, axis) => addAxis(study, box, axis, changed));
  if (study.tasks.length > 1) updates.push(addTasks(study, box, changed));
  return (state) => { for (const update of updates) update(state); };
}

function addAxis(study, box, axis, changed) {
  const entry = study.axes[axis], ranged = entry.stops.length > 0;
  const group = make("fieldset", { class: "axis" }, make("legend", {}, entry.label));
  box.append(group);
  const none = entry.missing ? tick(NO_VALUE, () => change()) : null;
  let read, update;
  if (ranged) [read, update] = addRange(entry, group, () => change());
  else [read, update] = addTicks(entry.levels, group, () => change());
  if (none) (group.querySelector(".ticks") || group).append(none.label);
  const change = () => changed((state) => {
    restrict(study, state, axis, { ...read(state.only.get(axis)), none: none ? none.input.checked : false });
  });
  return (state) => {
    const rule = state.only.get(axis);
    update(rule);
    if (none) none.input.checked = !rule || rule.none;
    group.classList.toggle("active", Boolean(rule));
  };
}

function tick(words, change) {
  const input = make("input", { type: "checkbox", onchange: change });
  input.checked = true;
  return { input, label: make("label", { class: "tick" }, input, words) };
}

function addTicks(names, group, change) {
  const ticks = names.map((name) => tick(name, change));
  group.append(make("div", { class: "ticks" }, ...ticks.map((each) => each.label)));
  const read = () => ({ levels: new Set(ticks.flatMap((each, level) => (each.input.checked ? [level] : []))) });
  const update = (rule) => ticks.forEach((each, level) => { each.input.checked = !rule || rule.levels.has(level); });
  return [read, update];
}

function addTasks(study, box, changed) {
  const group = make("fieldset", { class: "axis" }, make("legend", {}, "task"));
  box.append(group);
  const [read, update] = addTicks(study.tasks, group, () => changed((state) => {
    const { levels } = read();
    state.tasks = levels.size === study.tasks.length ? null : levels;
  }));
  return (state) => {
    update(state.tasks && { levels: state.tasks });
    group.classList.toggle("active", state.tasks !== null);
  };
}

// Two sliders over one track; a rule keeps its exact ends where a slider is not moved.
function addRange(entry, group, change) {
  const last = entry.stops.length - 1;
  const slider = (words, value) => make("input", {
    type: "range", min: 0, max: last, step: 1, value, "aria-label": entry.label + ": " + words,
  });
  const low = slider("lowest", 0), high = slider("highest", last), shown = make("output", { class: "ends" });
  const filled = draw("rect", { y: 2, height: 4, class: "kept" });
  const track = draw("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { y: 2, width: 100, height: 4, class: "track" }), filled);
  group.append(shown, make("div", { class: "range" }, track, low, high));
  let rest = [0, last];
  const words = (ends) => {
    shown.textContent = ends[0] > ends[1] ? "none" : short(ends[0]) + " to " + short(ends[1]);
    low.setAttribute("aria-valuetext", short(ends[0]));
    high.setAttribute("aria-valuetext", short(ends[1]));
    filled.setAttribute("x", 100 * low.value / last);
    filled.setAttribute("width", Math.max(0, 100 * (high.value - low.value) / last));
  };
  for (const input of [low, high]) {
    input.addEventListener("input", () => {
      if (Number(low.value) > Number(high.value)) (input === low ? low : high).value = (input === low ? high : low).value;
      change();
    });
  }
  const nearest = (value) => {
    let best = 0;
    entry.stops.forEach((stop, at) => { if (Math.abs(stop - value) < Math.abs(entry.stops[best] - value)) best = at; });
    return best;
  };
  const read = (rule) => ({
    low: rule && Number(low.value) === rest[0] ? rule.low : entry.stops[low.value],
    high: rule && Number(high.value) === rest[1] ? rule.high : entry.stops[high.value],
  });
  const update = (rule) => {
    const ends = rule ? [rule.low, rule.high] : [entry.stops[0], entry.stops[last]];
    rest = ends[0] > ends[1] ? [0, 0] : [nearest(ends[0]), nearest(ends[1])];
    [low.value, high.value] = rest;
    words(ends);
  };
  return [read, update];
}
