// Numbers and times as text.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export function clock(seconds) {
  const time = new Date(1000 * seconds);
  const today = new Date().toDateString() === time.toDateString();
  return today ? CLOCK.format(time) : `${DAY.format(time)}, ${CLOCK.format(time)}`;
}

// As `status` writes durations.
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86400).toFixed(1)} days`;
}

export function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

export function percent(share) {
  return `${Math.round(100 * share)}\u00a0%`;
}

export function points(difference) {
  const rounded = Math.round(100 * difference);
  return `${rounded > 0 ? "+" : rounded < 0 ? "−" : ""}${Math.abs(rounded)}`;
}

export function score(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 0.001 || size >= 10000) ? value.toExponential(1) : value.toFixed(size < 10 ? 3 : 1);
}

export function probability(p) {
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

// What a study is doing: a line for its page, its list entry and screen readers.
export function stateOf(study, now) {
  const run = study.kind === "search" ? "search" : "sweep";
  if (study.state === "running") {
    const left = study.seconds_left;
    const end = left === null ? "" : `; about ${duration(left)} left, until ${clock(now + left)}`;
    return `Running${study.running ? `: ${plural(study.running, "trial")}` : ""}${end}.`;
  }
  if (study.state === "finished") return study.stopped_early ? `The ${run} has finished: it stopped early.` : `The ${run} has finished.`;
  if (study.state === "waiting") return `The ${run} has not started yet.`;
  return `The ${run} is not running: last sign of life ${clock(study.alive)}.`;
}
