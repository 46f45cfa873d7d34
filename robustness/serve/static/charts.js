// Figures as SVG, drawn as wide as the page is, so that their letters keep their size.

import { element, shape } from "./elements.js";
import { score } from "./words.js";

export function colour(arms, arm) {
  return `arm${Math.max(0, arms.indexOf(arm)) % 8}`;
}

// Round numbers that cover a range.
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place += 1) found.push(place * step);
  return found;
}

// A list of sentences, each with its point and interval on one shared axis, so that long sentences wrap.
// Each row: sentence, value, low, high, colour.
export function intervals(rows, { width, low, high, label }) {
  const [left, right] = [8, width - 8];
  const x = (value) => left + ((value - low) / (high - low)) * (right - left);
  const marks = ticks(low, high, width < 500 ? 4 : 8);
  const strip = (height) => {
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const line = (tick) => shape("line", { x1: x(tick), x2: x(tick), y1: 0, y2: 22, class: tick === 0 && low < 0 ? "zero" : "grid" });
    picture.append(...marks.map(line));
    return picture;
  };
  const items = rows.map((row) => {
    const picture = strip(22);
    const group = shape("g", { class: row.colour });
    if (row.low !== null) group.append(shape("line", { x1: x(row.low), x2: x(row.high), y1: 11, y2: 11, class: "interval" }));
    if (row.value !== null) group.append(shape("circle", { cx: x(row.value), cy: 11, r: 5.5, class: "point" }));
    picture.append(group);
    return element("li", {}, element("span", {}, row.sentence), picture);
  });
  const axis = shape("svg", { viewBox: `0 0 ${width} 16`, "aria-hidden": "true" });
  for (const tick of marks) {
    const anchor = x(tick) < 30 ? "start" : x(tick) > width - 30 ? "end" : "middle";
    axis.append(shape("text", { x: x(tick), y: 13, "text-anchor": anchor, class: "quiet" }, label(tick)));
  }
  return element("div", {}, element("ul", { class: "rows" }, ...items), axis);
}

// Learning curves: `curves` maps a row to {trial, arm, status, points}.
export function learningCurves(curves, arms, { width, metric }) {
  const height = Math.round(Math.min(360, Math.max(220, width * 0.45)));
  const all = curves.flatMap((curve) => curve.points);
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describeCurves(curves, arms, metric) });
  if (!all.length) return picture;
  const epochs = all.map(([epoch]) => epoch);
  const values = all.map(([, value]) => value).sort((a, b) => a - b);
  const [first, last] = [Math.min(...epochs), Math.max(...epochs, Math.min(...epochs) + 1)];
  // Diverging losses must not squeeze everything else: one in fifty values may lie outside.
  const cut = Math.floor(values.length / 100);
  let [low, high] = [values[cut], values[values.length - 1 - cut]];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const left = 62;
  const x = (epoch) => left + ((epoch - first) / (last - first)) * (width - left - 12);
  const y = (value) => 10 + (1 - (Math.min(high, Math.max(low, value)) - low) / (high - low)) * (height - 54);
  for (const tick of ticks(low, high, 5)) {
    picture.append(shape("line", { x1: left, x2: width - 12, y1: y(tick), y2: y(tick), class: "grid" }));
    picture.append(shape("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "quiet" }, tickLabel(tick)));
  }
  for (const tick of ticks(first, last, width < 500 ? 4 : 8).filter(Number.isInteger)) {
    picture.append(shape("text", { x: x(tick), y: height - 24, "text-anchor": "middle", class: "quiet" }, String(tick)));
  }
  picture.append(shape("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle", class: "quiet" }, "epoch"));
  const ordered = [...curves].sort((a, b) => (a.status === "running") - (b.status === "running"));
  for (const curve of ordered) {
    const places = curve.points.map(([epoch, value]) => `${x(epoch).toFixed(1)},${y(value).toFixed(1)}`);
    const group = shape("g", { class: colour(arms, curve.arm) }, shape("title", {}, curveWords(curve)));
    if (places.length === 1) {
      const [cx, cy] = places[0].split(",");
      group.append(shape("circle", { cx, cy, r: 3, class: "dot" }));
    } else if (places.length) {
      group.append(shape("polyline", { points: places.join(" "), class: `curve ${curve.status === "running" ? "running" : ""}` }));
    }
    picture.append(group);
  }
  return picture;
}

function curveWords(curve) {
  const [epoch, value] = curve.points[curve.points.length - 1] ?? [0, null];
  return `${curve.trial}, ${curve.status.replaceAll("_", " ")}: ${score(value)} at epoch ${epoch}`;
}

function describeCurves(curves, arms, metric) {
  const counts = arms.map((arm) => `${arm} ${curves.filter((curve) => curve.arm === arm).length}`);
  return `${metric} by epoch; curves: ${counts.join(", ")}`;
}

function tickLabel(value) {
  const size = Math.abs(value);
  return size !== 0 && (size < 0.001 || size >= 100000) ? value.toExponential(0) : String(Number(value.toPrecision(6)));
}
