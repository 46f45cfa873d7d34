// Elements made of data: every text from a study goes through textContent or setAttribute, never through markup.

const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

// Replaces the text only if it differs, so that a screen reader does not announce the same line twice.
export function say(node, text, kind) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
  if (kind !== undefined) node.className = kind;
}

export function table(columns, rows) {
  const head = element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))));
  const body = element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map(cell))));
  return element("table", {}, head, body);
}

function cell(content) {
  if (content instanceof Node) return content;
  return element("td", {}, content === null || content === undefined ? "–" : String(content));
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
