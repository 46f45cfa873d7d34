// Small charts: scales, ticks that never overlap, axes, and many points as one path.

const LETTER = 6.3;  // the usual width of a letter of a tick's label

function chartFrame(width, height, left = 52) {
  return { width, height, left, right: width - 12, top: 12, bottom: height - 40 };
}

function chart(frame, words, attributes = {}) {
  return draw("svg", { viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": words, ...attributes });
}

// By this much steps may be smaller than `most` ticks ask for, which would otherwise leave two or three of them.
const SLACK = 0.8;

function linearScale(low, high, from, to) {
  const scale = (value) => from + (value - low) / (high - low || 1) * (to - from);
  scale.invert = (place) => low + (place - from) / (to - from || 1) * (high - low);
  scale.ticks = (most) => {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((factor) => power * factor >= raw * SLACK);
    const ticks = [];
    for (let count = Math.ceil(low / step - 1e-9); count * step <= high + 1e-9 * step; count++) {
      ticks.push(Number((count * step).toPrecision(12)));
    }
    return ticks;
  };
  return scale;
}

function logScale(low, high, from, to) {
  const inner = linearScale(Math.log10(low), Math.log10(high), from, to), scale = (value) => inner(Math.log10(value));
  scale.invert = (place) => 10 ** inner.invert(place);
  scale.ticks = (most) => {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    if (last - first < 1) return linearScale(low, high, from, to).ticks(Math.min(most, 4));
    const skip = Math.ceil((last - first + 1) / most), ticks = [];
    for (let power = first; power <= last; power += skip) ticks.push(Number("1e" + power));
    return ticks;
  };
  return scale;
}

// Levels side by side; `place` spreads what is at the same level, the same way each time.
function levelScale(names, from, to) {
  const step = (to - from) / names.length, scale = (level, place = 0) => from + step * (level + 0.5 + 0.6 * place);
  scale.levels = names;
  scale.step = Math.abs(step);
  scale.invert = (at) => (at - from) / step - 0.5;
  return scale;
}

// The scale of a hyperparameter's values.
function axisScale(study, axis, from, to) {
  const entry = study.axes[axis];
  if (!entry.stops.length) return levelScale(entry.levels, from, to);
  const ends = [entry.stops[0], entry.stops[entry.stops.length - 1]];
  const margin = 0.03 * (to - from);
  return (entry.log ? logScale : linearScale)(...ends, from + margin, to - margin);
}

// The share of the range of scores by which their axis goes on at each end.
const MARGIN = 0.04;

// What stands in for the scores of trials that count and have none.
function standIns(study) {
  const tasks = new Set();
  study.score.forEach((score, at) => {
    if (Number.isNaN(score) && study.flags[at] & COUNTED) tasks.add(study.task[Math.floor(at / study.width)]);
  });
  return [...tasks].map((task) => study.worst[task]);
}

// The ends of an axis of scores; a few far from the others do not stretch it.
function scoreRange(study) {
  const scores = Float64Array.from(study.score.filter(Number.isFinite)).sort(), last = scores.length - 1;
  if (last < 0) return study.range;
  let [low, high] = [scores[0], scores[last]];
  const inner = [scores[Math.floor(0.01 * last)], scores[Math.ceil(0.99 * last)]];
  if (inner[1] > inner[0] && high - low > 3 * (inner[1] - inner[0])) [low, high] = inner;
  // What stands in for a missing score is on the axis, unless that would leave the others less than a third of it.
  const near = standIns(study).filter((value) => Math.max(high, value) - Math.min(low, value) <= 3 * (high - low || Infinity));
  [low, high] = [Math.min(low, ...near), Math.max(high, ...near)];
  const margin = MARGIN * (high - low) || (Math.abs(low) < 1e9 ? 0.5 : Math.abs(low) / 2);
  return [low - margin, high + margin];
}

// Labels of ticks that fit into a length, each with its place.
function tickLabels(scale, length) {
  if (scale.levels) {
    const room = Math.max(3, Math.floor(scale.step / LETTER));
    const names = scale.levels.map((name) => (name.length > 14 ? name.slice(0, 13) + "\u2026" : name));
    const longest = Math.max(...names.map((name) => name.length)) + 1, skip = Math.ceil(longest / room);
    return names.flatMap((name, level) => (level % skip ? [] : [[scale(level), name]]));
  }
  for (let most = 6; most > 1; most--) {
    const ticks = scale.ticks(most).map((value) => [scale(value), short(value)]);
    const fits = ticks.every(([place, name], at) => at === 0 ||
      Math.abs(place - ticks[at - 1][0]) > LETTER * (name.length + ticks[at - 1][1].length) / 2 + 8);
    if (fits && ticks.length && ticks.length * 20 < length) return ticks;
  }
  return scale.ticks(1).slice(0, 1).map((value) => [scale(value), short(value)]);
}

// `yWords` may have several lines.
function drawAxes(svg, frame, x, y, xWords, yWords, most = 8) {
  const { left, right, top, bottom } = frame, group = draw("g", { class: "axes" });
  for (const [place, name] of tickLabels(x, right - left)) {
    const half = LETTER * name.length / 2, at = Math.min(frame.width - half, Math.max(half, place));
    group.append(draw("path", { class: "grid", d: `M${place} ${top}V${bottom}` }),
      draw("text", { x: at, y: bottom + 14, "text-anchor": "middle" }, name));
  }
  for (const value of y.ticks(most)) {
    group.append(draw("path", { class: "grid", d: `M${left} ${y(value)}H${right}` }),
      draw("text", { x: left - 5, y: y(value) + 3.5, "text-anchor": "end" }, short(value)));
  }
  group.append(draw("path", { class: "edge", d: `M${left} ${top}V${bottom}H${right}` }),
    draw("text", { class: "name", x: right, y: bottom + 31, "text-anchor": "end" }, cut(xWords, 58)),
    ...[yWords].flat().map((line, at) =>
      draw("text", { class: "name", transform: `translate(${11 + 13 * at} ${top})rotate(-90)`, "text-anchor": "end" }, cut(line, 36))));
  svg.append(group);
}

const cut = (words, most) => (words.length > most ? words.slice(0, most - 1) + "\u2026" : words);

// Points [x, y] as one path: dots, which browsers draw as round ends, or crosses.
const DOT = "h0", CROSS = "m-3.5-3.5l7 7m0-7l-7 7";
function marked(points, mark = DOT) {
  let path = "";
  for (const { x, y } of points) path += `M${x.toFixed(1)} ${y.toFixed(1)}${mark}`;
  return path;
}

// A number from -0.5 to 0.5 that is always the same for a unit.
const jitter = (unit) => ((unit * 0.6180339887498949) % 1) - 0.5;
