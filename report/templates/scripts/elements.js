// Elements and numbers as the page writes them. Text is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A name that breaks, where it must, after an underscore or between words in capitals: `breakable` in `report/page.py`.
function named(name) {
  const parts = document.createDocumentFragment();
  name.split(/(?<=_)(?=.)|(?<=[a-z0-9])(?=[A-Z])/).forEach((part, place) => parts.append(...(place ? [make("wbr")] : []), part));
  return parts;
}

const swatch = (arm) => make("span", { class: "swatch arm" + arm % 8, "aria-hidden": "true" });
const percent = (share) => (Math.floor(1000 * share + 0.5 + 1e-9) / 10).toFixed(1) + "\u00a0%";
const plural = (count, noun) => count.toLocaleString("en") + "\u00a0" + noun + (count === 1 ? "" : "s");
// What a point is.
function unitNoun(study) {
  const configuration = study.replicated ? "one replicate of a configuration" : "one configuration";
  return configuration + (study.tasks.length > 1 ? " on one task" : "");
}
// Of a hyperparameter that a configuration does not have.
const NO_VALUE = "none";
const minus = (text) => text.replace("-", "\u2212");

// As `report/words.signed` writes it: from a million on, three digits and a power of ten.
function signed(value, decimals) {
  if (Math.abs(value) >= 1e6) {
    return (value > 0 ? "+" : "") + minus(Number(value.toPrecision(3)).toExponential().replace("e+", "e"));
  }
  const scale = 10 ** decimals, whole = Math.sign(value) * Math.floor(Math.abs(value) * scale + 0.5 + 1e-9) / scale;
  return (whole > 0 ? "+" : "") + minus((whole || 0).toFixed(decimals));
}

// `−0.0005 [−0.0014 to +0.0004]`: as many decimals for all as keep the estimate apart from its ends, and those from 0.
function withEnds(value, low, high, decimals, write = signed) {
  if (low === null || low === undefined) return write(value, decimals);
  const ends = [low, high].filter((end) => end !== value);
  const enough = [decimals, decimals + 1, decimals + 2].find((digits) => ends.every((end) =>
    write(end, digits) !== write(value, digits) && (end === 0 || Number(write(end, digits).replace("\u2212", "-")) !== 0)));
  const [shown, first, last] = [value, low, high].map((each) => write(each, enough ?? decimals));
  return `${shown} [${first} to ${last}]`;
}

// A number in a few characters, as `report/words.number` writes it: `0.001`, `1e-4`, `-6`.
function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return String(Number(value.toPrecision(4)));
  const [digits, power] = value.toExponential(3).split("e");
  return String(Number(digits)) + "e" + Number(power);
}

function pNumber(p) {
  if (p === null || p === undefined) return "\u2013";
  if (p > 0.0495 && p < 0.0505) return p.toFixed(4);
  if (p >= 0.995) return "1";
  if (p >= 0.001) return String(Number(p.toPrecision(2)));
  const [digits, power] = p.toExponential(1).split("e");
  return digits + "e" + Number(power);
}

// `66.7 % (8 of 12) [39.1 % to 86.2 %]`, as `report/words.share_cell` writes it.
function shareWords(entry) {
  if (!entry.of) return "\u2013";
  const { configurations: k, replicates: most } = entry;
  const over = most === 1 ? entry.count + " of " + entry.of : k + " x " + (entry.of === k * most ? "" : "up to ") + most;
  const ends = entry.low === null ? "" : " [" + percent(entry.low) + " to " + percent(entry.high) + "]";
  return percent(entry.fraction) + " (" + over + ")" + ends;
}
