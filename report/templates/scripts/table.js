// The table of configurations: sorted by a click, filtered by words, a hundred rows at a time, and linked to the pictures.

const PAGE = 100;
const MOST_PRINTED = 1000;

const numberIn = (text) => (text === "" ? NaN : Number(text.replaceAll("−", "-")));

async function startTable(packedRows) {
  const table = document.getElementById("table");
  if (!table) return null;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent.trim().toLowerCase());
  let texts = [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  if (packedRows) {
    const columns = await unpackedRows(packedRows);
    texts = columns[0].map((_, place) => columns.map((column) => column[place]));
  }
  const rows = texts.map((cells, place) => ({ place, cells, low: null }));
  // At first in the order of the hyperparameters; a row's place stays that of its unit.
  const varied = heads.flatMap((head, at) => ("varied" in head.dataset ? [at] : []));
  rows.sort((a, b) => varied.reduce((order, at) => order || compared(a, b, at), 0) || a.place - b.place);
  const filter = document.getElementById("filter"), shown = document.querySelector("[data-shown]");
  const restriction = document.querySelector("[data-restriction]");
  const previous = document.querySelector("[data-previous]"), next = document.querySelector("[data-next]");
  let column = -1, direction = 1, page = 0, keeps = null, act = null, selected = new Set(), drawn = [];

  function fits(entry, word) {
    entry.low = entry.low || entry.cells.map((cell) => cell.toLowerCase());
    const end = word.indexOf("="), place = end > 0 ? names.indexOf(word.slice(0, end)) : -1;
    const wanted = place < 0 ? word : word.slice(end + 1), value = numberIn(wanted);
    // However it is written: cells have four digits of a hyperparameter.
    const equal = (cell) => [value, Number(value.toPrecision(4))].includes(numberIn(cell));
    const same = (cell) => cell === wanted || (!Number.isNaN(value) && equal(cell));
    return place < 0 ? entry.low.some((cell) => cell.includes(word) || same(cell)) : same(entry.low[place]);
  }

  // Rows without a value come last, in either direction.
  function compared(a, b, at, way = 1) {
    const x = a.cells[at], y = b.cells[at];
    const [noX, noY] = [x, y].map((text) => ["–", "", NO_VALUE].includes(text));
    if (noX || noY) return Number(noX) - Number(noY);
    const p = numberIn(x), q = numberIn(y);
    return way * (Number.isNaN(p) || Number.isNaN(q) ? (x < y ? -1 : x > y ? 1 : 0) : p - q);
  }

  const before = (a, b) => compared(a, b, column, direction) || a.place - b.place;

  function rowOf(entry) {
    const cells = entry.cells.map((text, place) => {
      if (place > 0) return make("td", {}, text);
      // One row is in the order of the Tab key; arrow keys reach the others.
      return make("th", { scope: "row" }, act ? make("button", { type: "button", tabindex: -1 }, text) : text);
    });
    return make("tr", { "data-unit": act ? entry.place : null }, ...cells);
  }

  function mark() {
    for (const row of drawn) {
      const chosen = act !== null && selected.has(Number(row.dataset.unit));
      row.classList.toggle("selected", chosen);
      row.querySelector("th button")?.setAttribute("aria-pressed", String(chosen));
    }
  }

  function show() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const among = keeps ? rows.filter((entry) => keeps(entry.place)) : rows;
    const found = among.filter((entry) => words.every((word) => fits(entry, word)));
    if (column >= 0) found.sort(before);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(page, pages - 1);
    const part = found.slice(page * PAGE, (page + 1) * PAGE);
    drawn = part.map(rowOf);
    body.replaceChildren(...drawn);
    drawn[0]?.querySelector("th button")?.setAttribute("tabindex", "0");
    mark();
    const narrowed = words.length || keeps, range = (page * PAGE + 1) + " to " + (page * PAGE + part.length) + " of " + found.length;
    shown.textContent = part.length ? range + (narrowed ? " that match, " + rows.length + " in all" : "") : "none of " + rows.length;
    previous.disabled = page === 0;
    next.disabled = page >= pages - 1;
    previous.hidden = next.hidden = pages === 1;
  }

  heads.forEach((head, place) => {
    const button = make("button", { type: "button" }, named(head.textContent));
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
    body.replaceChildren(...rows.slice(0, MOST_PRINTED).map(rowOf));
  });
  window.addEventListener("afterprint", show);
  document.querySelectorAll("[data-tools], [data-pages]").forEach((each) => { each.hidden = false; });

  function link(actions) {
    act = actions;
    const unitOf = (event) => event.target.closest("tr[data-unit]");
    body.addEventListener("click", (event) => {
      const row = unitOf(event);
      if (row) act.select(new Set([Number(row.dataset.unit)]), event.shiftKey || event.ctrlKey || event.metaKey);
    });
    body.addEventListener("pointerover", (event) => {
      const row = unitOf(event);
      if (row) act.hover(Number(row.dataset.unit));
    });
    body.addEventListener("pointerleave", () => act.hover(null));
    body.addEventListener("focusin", (event) => {
      const row = unitOf(event);
      if (row) act.hover(Number(row.dataset.unit));
    });
    body.addEventListener("keydown", (event) => {
      const row = unitOf(event), other = event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
      if (!["ArrowDown", "ArrowUp"].includes(event.key) || !other) return;
      row.querySelector("button").tabIndex = -1;
      other.querySelector("button").tabIndex = 0;
      other.querySelector("button").focus();
      event.preventDefault();
    });
    restriction.querySelector("button").addEventListener("click", () => {
      act.change(unrestrict);
      filter.focus();
    });
    show();
  }

  // Rows that a restriction of Explore does not keep, in `words`, are not listed.
  function restrict(keep, words) {
    keeps = keep;
    page = 0;
    restriction.hidden = !keep;
    restriction.querySelector("span").textContent = `The restriction in Explore applies here, too: it keeps ${words}.`;
    show();
  }

  show();
  return {
    link,
    restrict,
    select: (units) => { selected = units; mark(); },
  };
}
