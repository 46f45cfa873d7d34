// The list of all studies.

import { listen } from "./connection.js";
import { byId, element, say } from "./elements.js";
import { plural, stateOf } from "./words.js";

const WAITING = "The store holds no studies yet; a sweep adds them, and they appear here.";

function entry(study, now) {
  const link = element("a", { href: `/studies/${encodeURIComponent(study.name)}` }, study.name);
  const item = element("li", {}, element("h2", {}, link), element("p", {}, stateOf(study, now)));
  for (const { noun, done, all } of study.tallies) {
    const label = `${done.toLocaleString("en")} of ${all.toLocaleString("en")} ${noun}`;
    const bar = element("progress", { max: Math.max(all, 1), value: done, "aria-label": `${study.name}: ${noun}` });
    item.append(element("div", { class: "tally" }, element("p", { class: "soft" }, label), bar));
  }
  if (study.headline) item.append(element("p", {}, study.headline));
  const failures = Object.entries(study.failures).map(([status, count]) => `${count.toLocaleString("en")} ${status}`);
  if (failures.length) item.append(element("p", { class: "soft" }, failures.join(", ")));
  return item;
}

function show(news) {
  say(byId("store"), news.store);
  byId("studies").replaceChildren(...news.studies.map((study) => entry(study, news.at)));
  const waiting = news.studies.length ? "" : WAITING;
  say(byId("problem"), news.problem ? `Waiting: ${news.problem}.` : waiting, "banner");
  document.title = `${plural(news.studies.length, "study").replace("studys", "studies")}: robustness live`;
}

listen("/events", { studies: show });
