// One state, one computation: controls and views change the state, and all of them show what follows from it.

function startExploring(study, table) {
  const section = document.getElementById("explore"), find = (name) => section.querySelector(`[data-${name}]`);
  const total = new Set(study.configuration).size, steps = [...section.querySelectorAll("[data-step]")];
  const live = find("live"), kept = find("kept"), sliders = [...section.querySelectorAll("input[data-outcome]")];
  const rest = Object.fromEntries(sliders.map((input) => [input.dataset.outcome, input.value]));
  let asked = null, drawn = null, state = newState(study), found = null, hovered = null, browsed = null, waiting = false, saving = null, wholeLabels = null;

  const act = {
    change: (alter) => { alter(state); refresh(); },
    hover: (unit) => {
      if (unit === hovered) return;
      hovered = unit;
      light();
    },
    select: (units, more) => {
      if (more) for (const unit of units) state.selected.has(unit) ? state.selected.delete(unit) : state.selected.add(unit);
      else state.selected = units;
      browsed = null;
      light();
      save();
    },
  };
  const updateControls = makeControls(study, find("controls"), act.change);
  const profiles = make("figure");
  find("views").append(profiles);
  const views = makeViews(study, find("views"), act), updateHeat = makeHeatMap(study, find("heat"), act);
  const updateComparisons = makeComparisons(study, find("comparisons"), find("measure"), act), showCard = makeCard(study, find("card"));

  function light() {
    const units = keptUnits(study, found, state.selected), all = state.selected.size, place = units.indexOf(browsed) + 1;
    if (!place) browsed = null;
    views.highlight(new Set(units), hovered ?? browsed);
    table?.select(state.selected);
    showCard(found, state, hovered ?? browsed ?? (all === 1 ? [...state.selected][0] : null));
    find("selected").textContent = selectionWords(study, units.length, all, place);
    find("clear").hidden = !all;
    for (const button of steps) button.hidden = units.length < 2;
    find("reset").disabled = !isRestricted(state) && !Object.keys(state.levels).length;
  }

  // `44 of 86 configurations, 3 of 5 tasks`
  function keptWords() {
    const { tasks } = study, words = found.configurations.toLocaleString("en") + " of " + plural(total, "configuration");
    return tasks.length > 1 ? `${words}, ${found.tasks.length} of ${plural(tasks.length, "task")}` : words;
  }

  // The numbers at once, the pictures with the next frame.
  function refresh() {
    const restriction = restrictionOf(state);
    found = recompute(study, state, restriction === asked ? found : null);
    asked = restriction;
    const restricted = isRestricted(state);
    kept.textContent = keptWords() + (found.configurations ? "" : ". " + nothingLeft(study));
    find("counted").textContent = countedWords(study, found);
    const said = showFractions(study, found);
    live.textContent = (restricted ? kept.textContent + ": " : "") + said.join(", ");
    updateComparisons(found, state);
    updateControls(state);
    for (const input of sliders) {
      const outcome = input.dataset.outcome, level = state.levels[outcome];
      if (!isSet(level)) input.value = rest[outcome];
      else if (Number(input.value) !== level) input.value = level;
      document.getElementById("shown-" + outcome).textContent = (level ?? study.levels[outcome]).toFixed(3);
    }
    if (study.threshold && find("cells")) find("cells").textContent = cellWords(study, state);
    markTheRest(restricted);
    document.dispatchEvent(new CustomEvent("recomputed", { detail: found }));
    save();
    if (!waiting) requestAnimationFrame(redraw);
    waiting = true;
  }

  function redraw() {
    waiting = false;
    showProfiles(study, found, state, profiles);
    updateHeat(found, state);
    // Thresholds move no point and no row.
    const shown = asked + state.pair + "," + state.by + "," + state.shade;
    if (shown === drawn) views.relevel(state);
    else {
      drawn = shown;
      views.update(found, state);
      const { width } = study, current = found.kept;
      const keeps = (unit) => current.subarray(unit * width, (unit + 1) * width).some(Boolean);
      table?.restrict(isRestricted(state) ? keeps : null, keptWords());
    }
    light();
  }

  // Everything that is not recomputed says so and steps back.
  function markTheRest(restricted) {
    document.body.classList.toggle("restricted", restricted);
    if (!restricted && !wholeLabels) return;
    wholeLabels = wholeLabels || [...document.querySelectorAll("main section")]
      .filter((each) => !each.matches("#explore, #configurations") && !each.querySelector("section") && !section.contains(each))
      .map((each) => {
        const label = make("p", { class: "whole" }, "Not affected by your restriction");
        each.classList.add("unrestricted");
        each.prepend(label);
        return label;
      });
    for (const label of wholeLabels) label.hidden = !restricted;
  }

  function save() {
    clearTimeout(saving);
    saving = setTimeout(() => {
      const address = addressOf(study, state);
      if (address !== location.hash && (address || location.hash.startsWith("#explore?"))) history.replaceState(null, "", address || "#explore");
    }, 300);
  }

  function restore(address) {
    const linked = stateOf(study, address);
    if (!linked) return false;
    state = linked.state;
    find("ignored").textContent = linked.ignored.length ? "Ignored in this link: " + cut(linked.ignored.join(", "), 200) + "." : "";
    refresh();
    return true;
  }

  for (const input of sliders) {
    input.addEventListener("input", () => act.change(() => {
      // A slider at rest stands for the study's own threshold, also where that lies between two of its steps.
      if (input.value === rest[input.dataset.outcome]) delete state.levels[input.dataset.outcome];
      else state.levels[input.dataset.outcome] = Number(input.value);
    }));
  }
  find("reset").addEventListener("click", () => act.change(() => {
    unrestrict(state);
    state.levels = {};
    state.selected = new Set();
    find("ignored").textContent = "";
  }));
  find("clear").addEventListener("click", () => act.select(new Set(), false));
  // Through the selection, one after the other and round again.
  for (const button of steps) {
    button.addEventListener("click", () => {
      const units = keptUnits(study, found, state.selected), step = Number(button.dataset.step), at = units.indexOf(browsed);
      browsed = units[at < 0 && step < 0 ? units.length - 1 : (at + step + units.length) % units.length];
      hovered = null;
      light();
    });
  }
  find("link").addEventListener("click", async () => {
    const address = location.href.split("#")[0] + (addressOf(study, state) || "#explore"), place = find("address");
    place.hidden = false;
    place.value = address;
    place.select();
    try {
      await navigator.clipboard.writeText(address);
      find("copied").textContent = "Link copied.";
    } catch {
      find("copied").textContent = "Copy this link:";
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || (!state.selected.size && hovered === null)) return;
    hovered = null;
    act.select(new Set(), false);
  });
  // Not `location`: by now, the state before may have been saved there.
  window.addEventListener("hashchange", (event) => restore(new URL(event.newURL).hash));
  for (const each of section.querySelectorAll("[data-live-only]")) each.hidden = false;
  table?.link(act);
  if (restore(location.hash)) section.scrollIntoView();
  else refresh();
}
