"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const percent = (share) => (Math.floor(1000 * share + 0.5 + 1e-9) / 10).toFixed(1) + "\u00a0%";

  // Wilson's score interval of a fraction of `of`, as in the report's own statistics.
  function wilson(p, of) {
    const z = data.z, middle = (p + z * z / (2 * of)) / (1 + z * z / of);
    const half = z / (1 + z * z / of) * Math.sqrt(p * (1 - p) / of + z * z / (4 * of * of));
    return [p === 0 ? 0 : Math.max(0, middle - half), p === 1 ? 1 : Math.min(1, middle + half)];
  }

  // The mean over configurations of outcomes (0 or 1), its interval, and what it is over: `clusters.py` has the formulas.
  function fraction(outcomes, owners) {
    const groups = new Map();
    outcomes.forEach((outcome, place) => {
      const group = groups.get(owners[place]) || { of: 0, sum: 0 };
      groups.set(owners[place], { of: group.of + 1, sum: group.sum + outcome });
    });
    const every = [...groups.values()], k = every.length, total = outcomes.length;
    const add = (term) => every.reduce((sum, group) => sum + term(group), 0);
    const count = add((group) => group.sum), grand = count / total, share = add((group) => group.sum / group.of) / k;
    let rho = 1;
    if (k > 1 && total > k) {
      const common = 2 * count > total ? 1 : 0;
      const informative = every.filter((group) => group.sum !== common * group.of).length;
      const between = add((group) => group.of * (group.sum / group.of - grand) ** 2) / (k - 1);
      const within = add((group) => group.sum * (1 - group.sum / group.of)) / (total - k);
      const size = (total - add((group) => group.of ** 2) / total) / (k - 1), spread = between + (size - 1) * within;
      const raw = spread > 0 ? Math.min(1, Math.max(0, (between - within) / spread)) : 1;
      rho = (1 + informative * raw) / (1 + informative);
    }
    const most = Math.max(...every.map((group) => group.of));
    const over = most === 1 ? count + " of " + total : k + " x " + (total === k * most ? "" : "up to ") + most;
    return { share, over, ends: wilson(share, k / (rho + (1 - rho) * add((group) => 1 / group.of) / k)) };
  }

  function startSliders() {
    const box = document.querySelector("[data-sliders]");
    if (!box) return;
    const inputs = [...box.querySelectorAll("input")];
    const live = document.querySelector("[data-live]");
    const cells = [...document.querySelectorAll("td[data-arm]")];
    // A slider at rest stands for the study's own threshold, also where that lies between two of its steps.
    const rest = Object.fromEntries(inputs.map((input) => [input.dataset.outcome, input.value]));
    // `above` is how far a trial's own threshold lies above the lowest, where they differ.
    const sign = data.lower_is_better ? -1 : 1;
    const below = (s, level) => s === null || (data.inclusive ? sign * s <= sign * level : sign * s < sign * level);
    const isGood = (s, levels) => s !== null && sign * s >= sign * levels.good;
    const nothing = (s, levels, above) =>
      below(s, levels.learned_nothing + above) && !(data.good_first && isGood(s, levels));
    const fits = {
      learned_nothing: nothing,
      good: (s, levels, above) => !nothing(s, levels, above) && isGood(s, levels),
    };

    function show() {
      const levels = {};
      for (const input of inputs) {
        const outcome = input.dataset.outcome;
        levels[outcome] = input.value === rest[outcome] ? data.levels[outcome] : Number(input.value);
        document.getElementById("shown-" + outcome).textContent = levels[outcome].toFixed(3);
      }
      const said = [];
      for (const cell of cells) {
        const arm = data.arms[Number(cell.dataset.arm)];
        if (!arm.scores.length) continue;
        const above = (place) => (arm.above ? arm.above[place] : 0);
        const has = (s, place) => Number(fits[cell.dataset.outcome](s, levels, above(place)));
        const outcomes = arm.scores.map(has);
        const found = fraction(outcomes, arm.configurations), text = percent(found.share);
        const ends = data.z === null ? "" : " [" + found.ends.map(percent).join(" to ") + "]";
        const shown = text + " (" + found.over + ")" + ends;
        cell.querySelector(".share").textContent = shown;
        cell.querySelector(".level").setAttribute("width", String(100 * found.share));
        said.push(arm.name + " " + cell.dataset.outcome.replace("_", " ") + " " + text);
      }
      live.textContent = said.join(", ");
    }

    for (const input of inputs) input.addEventListener("input", show);
    box.querySelector("[data-reset]").addEventListener("click", () => {
      for (const input of inputs) input.value = rest[input.dataset.outcome];
      show();
    });
    box.hidden = false;
  }

  function startTable() {
    const table = document.getElementById("table");
    if (!table) return;
    const PAGE = 100;
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const names = heads.map((head) => head.textContent.trim().toLowerCase());
    const rows = [...body.rows].map((row, place) => {
      const cells = [...row.cells].map((cell) => cell.textContent.trim());
      return { row, place, cells, low: cells.map((cell) => cell.toLowerCase()) };
    });
    const filter = document.getElementById("filter");
    const shown = document.querySelector("[data-shown]");
    const previous = document.querySelector("[data-previous]"), next = document.querySelector("[data-next]");
    let column = -1, direction = 1, page = 0;

    function fits(entry, word) {
      const cut = word.indexOf("=");
      const place = cut > 0 ? names.indexOf(word.slice(0, cut)) : -1;
      if (place >= 0) return entry.low[place] === word.slice(cut + 1);
      return entry.low.some((cell) => cell.includes(word));
    }

    function before(a, b) {
      const x = a.cells[column], y = b.cells[column];
      const noX = x === "–" || x === "", noY = y === "–" || y === "";
      if (noX || noY) return noX === noY ? a.place - b.place : noX ? 1 : -1;
      const p = Number(x.replace("−", "-")), q = Number(y.replace("−", "-"));
      const order = Number.isNaN(p) || Number.isNaN(q) ? (x < y ? -1 : x > y ? 1 : 0) : p - q;
      return direction * order || a.place - b.place;
    }

    function show() {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((entry) => words.every((word) => fits(entry, word)));
      if (column >= 0) found.sort(before);
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      page = Math.min(page, pages - 1);
      const part = found.slice(page * PAGE, (page + 1) * PAGE);
      body.replaceChildren(...part.map((entry) => entry.row));
      const range = part.length ? (page * PAGE + 1) + " to " + (page * PAGE + part.length) + " of " : "none of ";
      shown.textContent = range + found.length + (words.length ? " that fit, " + rows.length + " in all" : "");
      previous.disabled = page === 0;
      next.disabled = page >= pages - 1;
    }

    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        direction = column === place ? -direction : 1;
        column = place;
        page = 0;
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        show();
      });
    });
    filter.addEventListener("input", () => { page = 0; show(); });
    previous.addEventListener("click", () => { page -= 1; show(); });
    next.addEventListener("click", () => { page += 1; show(); });
    window.addEventListener("beforeprint", () => {
      for (const each of document.querySelectorAll("details")) each.open = true;
      body.replaceChildren(...rows.map((entry) => entry.row));
    });
    window.addEventListener("afterprint", show);
    document.querySelectorAll("[data-tools], [data-pages]").forEach((each) => { each.hidden = false; });
    show();
  }

  startSliders();
  startTable();
})();
