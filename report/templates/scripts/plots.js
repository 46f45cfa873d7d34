// A picture whose points can be asked: hover, tap, arrow keys; a click or a drawn box selects their units everywhere.

const REACH = 16;  // how far from a point, in units of the picture, still means it

function makePlot(figure, words, act) {
  const stage = make("div", { class: "stage", tabindex: 0, role: "application", "aria-roledescription": "chart" });
  figure.append(stage);
  let built = null, marks = null, order = null, at = -1, start = null;

  function show(next, label) {
    built = next;
    marks = draw("g", { class: "marks" });
    built.svg.append(marks, ...(built.labels ? [built.labels] : []));
    stage.replaceChildren(built.svg);
    stage.setAttribute("aria-label", label + ". Arrow keys move between points, Enter selects, Escape clears.");
    order = null;
  }

  // The points that keys go through, from left to right.
  function inOrder() {
    const { points } = built;
    order = order || points.map((_, place) => place).filter((place) => points[place].kept)
      .sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
    return order;
  }

  function highlight(selected, hovered) {
    if (!built) return;
    const groups = new Map(), near = [];
    for (const point of selected.size || hovered !== null ? built.points : []) {
      if (selected.has(point.unit) && point.kept && point.arm >= 0) {
        if (!groups.has(point.arm)) groups.set(point.arm, []);
        groups.get(point.arm).push(point);
      }
      if (point.unit === hovered && point.arm >= 0) near.push(point);
    }
    const shapes = [];
    if (built.trace) {
      const lines = [...selected].map(built.trace).join("");
      if (lines) shapes.push(draw("path", { class: "chosen", d: lines }));
      if (hovered !== null) shapes.push(draw("path", { class: "hovered", d: built.trace(hovered) }));
    }
    for (const [arm, points] of groups) {
      const [known, standing] = [false, true].map((which) => points.filter((point) => Boolean(point.stands) === which));
      for (const [mark, some, shape] of [["dots", known, DOT], ["crosses", standing, CROSS]]) {
        const path = marked(some, shape);
        if (path) shapes.push(draw("path", { class: mark + " ring", d: path }), draw("path", { class: `${mark} arm${arm % 8}`, d: path }));
      }
    }
    for (const point of near) shapes.push(draw("circle", { class: "hover", cx: point.x, cy: point.y, r: 6 }));
    marks.replaceChildren(...shapes);
    built.svg.classList.toggle("faded", selected.size > 0);
  }

  function place(event) {
    const box = built.svg.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * built.frame.width, (event.clientY - box.top) / box.height * built.frame.height];
  }

  function nearest([x, y]) {
    let best = null, least = REACH ** 2;
    for (const point of built.points) {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least && point.kept) [best, least] = [point, distance];
    }
    return best;
  }

  stage.addEventListener("pointerdown", (event) => {
    if (!built || event.button !== 0) return;
    start = place(event);
    if (event.pointerType === "mouse") stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!built) return;
    const here = place(event);
    if (start && event.pointerType === "mouse" && Math.hypot(here[0] - start[0], here[1] - start[1]) > 4) {
      marks.querySelector(".brush")?.remove();
      marks.append(draw("rect", {
        class: "brush", x: Math.min(start[0], here[0]), y: Math.min(start[1], here[1]),
        width: Math.abs(here[0] - start[0]), height: Math.abs(here[1] - start[1]),
      }));
      return;
    }
    const point = nearest(here);
    act.hover(point ? point.unit : null);
  });
  stage.addEventListener("pointerup", (event) => {
    if (!built || !start) return;
    const here = place(event), from = start, more = event.shiftKey || event.ctrlKey || event.metaKey;
    start = null;
    if (marks.querySelector(".brush")) {
      const inside = built.points.filter((point) => point.kept &&
        (point.x - from[0]) * (point.x - here[0]) <= 0 && (point.y - from[1]) * (point.y - here[1]) <= 0);
      // The card is that of the selection, not of the point where the box began.
      act.hover(null);
      act.select(new Set(inside.map((point) => point.unit)), more);
      return;
    }
    const point = nearest(here);
    if (point) act.hover(point.unit);
    act.select(new Set(point ? [point.unit] : []), more);
  });
  stage.addEventListener("pointercancel", () => { start = null; });
  stage.addEventListener("pointerleave", () => { if (!start) act.hover(null); });
  stage.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key in steps || event.key === "Home" || event.key === "End") {
      const last = inOrder().length - 1, next = event.key === "Home" ? 0 : event.key === "End" ? last : at + steps[event.key];
      at = Math.max(0, Math.min(last, next));
      if (last >= 0) act.hover(built.points[order[at]].unit);
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0 && at < inOrder().length) {
      act.select(new Set([built.points[order[at]].unit]), event.shiftKey);
    } else return;
    event.preventDefault();
  });
  return { show, highlight };
}

function chooser(words, names, chosen) {
  const select = make("select", { onchange: () => chosen(Number(select.value)) },
    ...names.map((name, place) => make("option", { value: place }, name)));
  return { select, label: make("label", {}, words + " ", select) };
}
