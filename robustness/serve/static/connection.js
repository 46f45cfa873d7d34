// The stream of news: it comes back by itself after a loss, and rests while nobody sees the page.

import { byId, say } from "./elements.js";
import { clock } from "./words.js";

const SILENCE = 16000; // milliseconds without a word, after which the connection counts as lost
const LONGEST = 10000;

export function listen(path, handlers) {
  let source = null;
  let timer = 0;
  let watchdog = 0;
  let delay = 500;
  let heard = 0;
  let ended = false;

  function open() {
    close();
    if (document.hidden) return;
    source = new EventSource(path);
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => {
        alive();
        handle(JSON.parse(event.data));
      });
    }
    source.addEventListener("beat", alive);
    source.addEventListener("farewell", () => {
      ended = true;
      lost();
    });
    source.addEventListener("error", lost);
    watchdog = setTimeout(lost, SILENCE);
  }

  function close() {
    clearTimeout(timer);
    clearTimeout(watchdog);
    if (source !== null) source.close();
    source = null;
  }

  function alive() {
    heard = Date.now() / 1000;
    delay = 500;
    ended = false;
    clearTimeout(watchdog);
    watchdog = setTimeout(lost, SILENCE);
    say(byId("connection"), "");
  }

  function lost() {
    close();
    const since = heard ? ` This is the state of ${clock(heard)}.` : "";
    const why = ended ? "The server ended with its sweep; robustness serve shows the page again." : "No connection to the server; trying again.";
    say(byId("connection"), why + since);
    timer = setTimeout(open, delay);
    delay = Math.min(2 * delay, LONGEST);
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  open();
}
