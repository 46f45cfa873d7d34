// The page of one study.

import { colour, intervals, learningCurves } from "./charts.js";
import { listen } from "./connection.js";
import { byId, element, say, table } from "./elements.js";
import { clock, duration, percent, plural, points, probability, score, stateOf } from "./words.js";

const path = location.pathname.replace(/\/$/, "");
const name = decodeURIComponent(path.split("/")[2]);
const curves = new Map();
const hidden = new Set();
let study = null;
let announced = null;
let offset = 0; // the server's clock minus this machine's

function show(news) {
  study = news;
  offset = news.at - Date.now() / 1000;
  if (news.afresh) curves.clear();
  for (const [row, curve] of Object.entries(news.curves)) {
    if (curve === null) curves.delete(row);
    else curves.set(row, curve);
  }
  byId("content").hidden = false;
  say(byId("description"), news.description);
  showState();
  showProgress();
  showOutcomes();
  showSearch();
  showLegend();
  showCurves();
  showRunning();
  showFailed();
}

function showState() {
  const line = stateOf(study, Date.now() / 1000);
  const command = { stopped: "to go on", waiting: "to start" }[study.state];
  const node = byId("state");
  const text = command ? `${line.slice(0, -1)}; ${command}: ${study.command}` : line + reason();
  if (node.textContent !== text) {
    node.replaceChildren(text);
    if (command) node.replaceChildren(`${line.slice(0, -1)}; ${command}: `, element("code", {}, study.command));
  }
  node.className = `banner ${study.state}`;
  // Screen readers hear what has changed, not every estimate of the time left.
  const change = study.state === "running" ? `The ${study.kind} is running.` : text;
  if (announced !== study.state) byId("announcement").textContent = change;
  announced = study.state;
  document.title = `${study.tallies.map(({ done, all }) => `${done}/${all}`).join(", ")} ${name}: robustness live`;
}

function reason() {
  const why = { decided: " The evidence is decisive.", futility: " The remaining configurations are unlikely to decide it." };
  return why[study.outcomes?.stopped] ?? "";
}

function showProgress() {
  const bars = study.tallies.map(({ noun, done, all }, place) => {
    const id = `tally${place}`;
    const count = element("span", {}, `${done.toLocaleString("en")} of ${all.toLocaleString("en")}`);
    const label = element("label", { for: id }, element("span", {}, noun[0].toUpperCase() + noun.slice(1)), count);
    return element("div", { class: "tally" }, label, element("progress", { id, max: Math.max(all, 1), value: done }));
  });
  byId("tallies").replaceChildren(...bars);
  const figures = Object.entries(study.counts).map(([status, count]) => [`Trials ${status}`, count.toLocaleString("en")]);
  if (study.seconds_left !== null) {
    figures.push(["Time left", `about ${duration(study.seconds_left)}`]);
    figures.push(["Ends about", clock(Date.now() / 1000 + study.seconds_left)]);
  }
  figures.push(["Worker time used", duration(study.work_done)]);
  if (study.work_left !== null) figures.push(["Worker time left", `about ${duration(study.work_left)}`]);
  const entries = figures.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value)));
  byId("figures").replaceChildren(...entries);
  byId("report").href = `${path}/report`;
}

function showOutcomes() {
  const found = study.outcomes;
  byId("outcomes").hidden = found === null;
  say(byId("outcomes-heading"), study.state === "finished" ? "Outcomes" : "Outcomes so far");
  if (found === null) return;
  const known = found.fractions.filter((row) => row.fraction !== null);
  const over = found.paired ? "complete pairs" : "trials";
  const waiting = found.known ? `No ${found.paired ? "pair is complete" : "trial has ended"} yet.` : "The baseline of learned nothing has not been measured yet.";
  say(byId("outcomes-reading"), known.length ? "" : waiting);
  byId("fractions-figure").hidden = !known.length;
  say(byId("fractions-caption"), `Share of ${over} that ${found.outcome === "good" ? "were good" : found.outcome}`);
  const shares = found.fractions.map((row) => ({ ...row, value: row.fraction, sentence: shareOf(row), colour: colour(study.arms, row.arm) }));
  draw("fractions", (width) => intervals(shares, { width, low: 0, high: 1, label: percent }));
  const tested = found.comparisons.filter((row) => row.difference !== null);
  byId("comparisons-figure").hidden = !tested.length;
  say(byId("comparisons-caption"), `Difference in percentage points${found.anytime ? ", the evidence that may stop the sweep" : ""}`);
  const differences = tested.map((row) => ({ ...row, value: row.difference, sentence: differenceOf(row, found.anytime), colour: "ink" }));
  draw("comparisons", (width) => intervals(differences, { width, low: -1, high: 1, label: points }));
  const least = found.least ? ` It needs at least ${plural(found.least, "pair")}.` : "";
  const note = found.anytime
    ? `Intervals and p-values are valid however often you look; the sweep stops below p = ${found.level}.${least}`
    : `Intervals are 95\u00a0%, p-values after Holm's correction.${study.state === "finished" ? "" : " They are meant for one look: do not stop the sweep because of them."}`;
  say(byId("outcomes-note"), tested.length ? note : "");
}

function shareOf({ arm, fraction, count, of, low, high }) {
  if (fraction === null) return `${arm}: nothing yet`;
  const range = low === null ? "" : `, 95\u00a0% interval ${percent(low)} to ${percent(high)}`;
  return `${arm}: ${percent(fraction)} (${count.toLocaleString("en")} of ${of.toLocaleString("en")}${range})`;
}

function differenceOf({ arms, difference, low, high, p_value: p, pairs, decided, equivalent }, anytime) {
  const range = low === null ? "" : ` (${points(low)} to ${points(high)})`;
  const settled = anytime ? "decided" : "significant";
  const open = anytime ? "still open" : "not significant";
  const verdict = equivalent ? "equivalent" : decided ? settled : open;
  const facts = [pairs ? plural(pairs, "pair") : "", p === null ? "" : probability(p), verdict].filter(Boolean);
  return `${arms.join(" minus ")}: ${points(difference)} points${range}; ${facts.join(", ")}`;
}

function showSearch() {
  byId("search").hidden = study.search === null;
  if (study.search === null) return;
  const rows = Object.entries(study.search).map(([arm, entry]) => [
    element("th", { scope: "row" }, arm), `${entry.runs.done} of ${entry.runs.all}`, score(entry.best), entry.best_run, `${entry.final_models.done} of ${entry.final_models.all}`,
  ]);
  byId("search-table").replaceChildren(table(["Arm", "Runs", `Best ${study.metric}`, "In run", "Final models"], rows));
}

function showLegend() {
  const legend = byId("legend");
  if (legend.childElementCount === study.arms.length) return;
  const boxes = study.arms.map((arm) => {
    const box = element("input", { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(arm);
      else hidden.add(arm);
      showCurves();
    });
    return element("label", {}, box, element("span", { class: `swatch ${colour(study.arms, arm)}` }), arm);
  });
  legend.replaceChildren(...boxes);
}

function showCurves() {
  const drawn = [...curves.values()].filter((curve) => curve.points.length && !hidden.has(curve.arm));
  const ended = drawn.filter((curve) => curve.status !== "running").length;
  const running = drawn.length - ended;
  const kind = study.state === "running" ? "running trial" : "interrupted trial";
  const words = `${study.metric} of ${running ? `${plural(running, kind)} (bold) and ` : ""}the last ${plural(ended, "ended trial")}`;
  say(byId("curves-caption"), drawn.length ? words : "No epoch has been recorded yet.");
  draw("curves", (width) => learningCurves(drawn, study.arms, { width, metric: study.metric }));
}

function showRunning() {
  const now = Date.now() / 1000 + offset;
  const rows = study.workers.map((trial) => [
    element("th", { scope: "row" }, trial.trial),
    trial.worker,
    trial.device,
    trial.started === null ? null : `${clock(trial.started - offset)} (${duration(Math.max(0, now - trial.started))})`,
    trial.epoch === null ? "–" : trial.epochs ? `${trial.epoch} of ${trial.epochs}` : trial.epoch,
    score(trial.value),
    trial.attempt > 1 ? trial.attempt : "",
  ]);
  const columns = ["Trial", "Worker", "Device", "Since", "Epoch", study.metric, "Attempt"];
  byId("running").replaceChildren(rows.length ? table(columns, rows) : element("p", { class: "soft" }, "No trial is running."));
}

function showFailed() {
  const counts = Object.entries(study.failures).map(([status, count]) => `${count.toLocaleString("en")} ${status}`);
  const rows = study.failed.map((trial) => [
    element("th", { scope: "row" }, trial.trial),
    trial.status,
    trial.ended === null ? null : clock(trial.ended - offset),
    trial.worker,
    element("td", { class: "words" }, trial.error || "–"),
    element("td", { class: "words" }, trial.reproduce ? element("code", {}, trial.reproduce) : "–"),
  ]);
  const columns = ["Trial", "Status", "At", "Worker", "Message", "To reproduce"];
  const line = element("p", { class: "soft" }, counts.length ? `${counts.join(", ")}.` : "No trial has failed.");
  byId("failed").replaceChildren(line, ...(rows.length ? [table(columns, rows)] : []));
}

// Draws into a place as wide as it is now, and again when that changes.
const drawings = new Map();
function draw(id, make) {
  drawings.set(id, make);
  const place = byId(id);
  if (place.clientWidth > 0) place.replaceChildren(make(place.clientWidth));
}

new ResizeObserver(() => {
  for (const [id, make] of drawings) draw(id, make);
}).observe(byId("main"));

function showMissing(news) {
  byId("content").hidden = true;
  curves.clear();
  say(byId("state"), news.problem ? `Waiting: ${news.problem}.` : "The store has no study of this name yet.", "banner");
}

byId("name").textContent = name;
document.title = `${name}: robustness live`;
setInterval(() => study !== null && !byId("content").hidden && showRunning(), 1000);
listen(`${path}/events`, { study: show, missing: showMissing });
