// The intervals and tests of `robustness/statistics`, whose modules have the formulas and their sources.
// Values come with `owners`, the configuration of each, in ascending order.

const NONE = { low: null, high: null };
// Without an interval and a test, for a reason: `Interval.none`.
const untested = (why) => ({ ...NONE, p_value: null, why });

// Sums and sizes of the values of each configuration.
function grouped(values, owners) {
  const sums = [], sizes = [], starts = [], numbers = [];
  for (let at = 0; at < values.length; at++) {
    if (at === 0 || owners[at] !== owners[at - 1]) {
      sums.push(0);
      sizes.push(0);
      starts.push(at);
      numbers.push(owners[at]);
    }
    sums[sums.length - 1] += values[at];
    sizes[sizes.length - 1] += 1;
  }
  return { sums, sizes, starts, numbers, k: sums.length };
}

const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const shares = (groups) => groups.sums.map((sum, at) => sum / groups.sizes[at]);
const meanShare = (values, owners) => meanOf(shares(grouped(values, owners)));

// clusters.py: how many independent values these are worth.
function effectiveNumber(values, owners) {
  if (!values.length) return 0;
  const groups = grouped(values, owners), rho = withinCorrelation(values, groups);
  return groups.k / (rho + (1 - rho) * meanOf(groups.sizes.map((size) => 1 / size)));
}

function withinCorrelation(values, groups) {
  const { k, sizes, starts } = groups, total = values.length;
  if (k < 2 || total === k) return 1;
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  let usual = null;
  for (const kind of [...counts.keys()].sort((a, b) => a - b)) {
    if (usual === null || counts.get(kind) > counts.get(usual)) usual = kind;
  }
  const means = shares(groups), grand = meanOf(values);
  let informative = 0, between = 0, within = 0, squares = 0;
  for (let group = 0; group < k; group++) {
    let other = false;
    for (let at = starts[group]; at < starts[group] + sizes[group]; at++) {
      other = other || values[at] !== usual;
      within += (values[at] - means[group]) ** 2;
    }
    informative += other ? 1 : 0;
    between += sizes[group] * (means[group] - grand) ** 2;
    squares += sizes[group] ** 2;
  }
  between /= k - 1;
  within /= total - k;
  const size = (total - squares / total) / (k - 1), spread = between + (size - 1) * within;
  const rho = spread > 0 ? Math.min(1, Math.max(0, (between - within) / spread)) : 1;
  return (1 + informative * rho) / (1 + informative);
}

// proportions.py
function wilson(p, n, z) {
  const centre = (p + z * z / (2 * n)) / (1 + z * z / n);
  const half = z / (1 + z * z / n) * Math.sqrt(Math.max(0, p * (1 - p)) / n + z * z / (4 * n * n));
  return { low: p === 0 ? 0 : Math.max(0, centre - half), high: p === 1 ? 1 : Math.min(1, centre + half) };
}

function agreeing(ends, estimate, p) {
  if (p >= 0.05) return { low: Math.min(ends.low, 0), high: Math.max(ends.high, 0) };
  if (estimate > 0) return { low: Math.max(ends.low, Number.MIN_VALUE), high: ends.high };
  return { low: ends.low, high: Math.min(ends.high, -Number.MIN_VALUE) };
}

// score_test.py: Tango's score of the difference d, from b and c discordant of n pairs.
function tangoScore(b, c, n, d) {
  const numerator = b - c - n * d, e = (2 * n - b + c) * d - b - c;
  const q = Math.max(0, (Math.sqrt(Math.max(0, e * e + 8 * n * c * d * (1 - d))) - e) / (4 * n));
  const variance = n * (2 * q + d * (1 - d));
  if (variance <= 1e-12 * n) return Math.abs(numerator) <= 1e-12 * n ? 0 : Math.sign(numerator) * Infinity;
  return numerator / Math.sqrt(variance);
}

function tango(b, c, n, z) {
  const estimate = (b - c) / n;
  const where = (level, low, high) => {
    const excess = (d) => Math.min(Math.max(tangoScore(b, c, n, d) - level, -1e6), 1e6);
    const first = excess(low), last = excess(high);
    if (first * last > 0) return Math.abs(first) < Math.abs(last) ? low : high;
    if (first === 0 || last === 0) return first === 0 ? low : high;
    return bisected(excess, low, high);
  };
  const low = tangoScore(b, c, n, -1) <= z ? -1 : where(z, -1, estimate);
  const high = tangoScore(b, c, n, 1) >= -z ? 1 : where(-z, estimate, 1);
  const p = Math.min(1, 2 * normalTail(Math.abs(tangoScore(b, c, n, 0))));
  return { ...agreeing({ low, high }, estimate, p), p_value: p };
}

// paired.py: outcomes, 0 or 1, of two arms.
function pairedTest(first, second, owners, z) {
  const difference = first.map((value, at) => value - second[at]), n = effectiveNumber(difference, owners);
  const onlyFirst = meanShare(difference.map((value) => Number(value > 0)), owners);
  const onlySecond = meanShare(difference.map((value) => Number(value < 0)), owners);
  return { difference: meanShare(difference, owners), effective: n, ...tango(n * onlyFirst, n * onlySecond, n, z) };
}

// tasks.py: the same, stratified by task; `strata` has { first, second, owners } for each task with pairs.
function stratifiedTest(strata, z) {
  const parts = strata.map(({ first, second, owners }) => {
    const difference = first.map((value, at) => value - second[at]), groups = grouped(difference, owners);
    return {
      pairs: effectiveNumber(difference, owners),
      onlyFirst: meanShare(difference.map((value) => Number(value > 0)), owners),
      onlySecond: meanShare(difference.map((value) => Number(value < 0)), owners),
      differences: shares(groups),
      configurations: groups.numbers,
    };
  });
  const total = (term) => parts.reduce((sum, part) => sum + term(part), 0), pairs = total((part) => part.pairs);
  const first = total((part) => part.pairs * part.onlyFirst) / pairs;
  const second = total((part) => part.pairs * part.onlySecond) / pairs;
  const configurations = new Set(parts.flatMap((part) => part.configurations)).size;
  const usual = total((part) => part.configurations.length) / configurations;
  const n = pairs / (1 + (usual - 1) * taskCorrelation(parts));
  return { difference: first - second, effective: n, ...tango(n * first, n * second, n, z) };
}

function taskCorrelation(parts) {
  if (parts.length < 2) return 0;
  const rows = parts.flatMap(({ differences, configurations }) => {
    const mean = meanOf(differences);
    return differences.map((value, at) => [configurations[at], value - mean, value !== 0]);
  });
  rows.sort((a, b) => a[0] - b[0]);
  const centred = rows.map((row) => row[1]), owners = rows.map((row) => row[0]), groups = grouped(centred, owners);
  const { k, sizes } = groups, total = centred.length, freedom = total - k - (parts.length - 1);
  if (k < 2 || freedom < 1) return 1;
  const means = shares(groups);
  let between = 0, within = 0, squares = 0;
  groups.starts.forEach((start, group) => {
    between += sizes[group] * means[group] ** 2;
    squares += sizes[group] ** 2;
    for (let at = start; at < start + sizes[group]; at++) within += (centred[at] - means[group]) ** 2;
  });
  between /= k - 1;
  within /= freedom;
  const spread = between + ((total - squares / total) / (k - 1) - 1) * within;
  const rho = spread > 0 ? Math.min(1, Math.max(0, (between - within) / spread)) : 1;
  const informative = new Set(rows.filter((row) => row[2]).map((row) => row[0])).size;
  return (1 + informative * rho) / (1 + informative);
}

// independent.py: fractions of two arms that share no configurations.
function newcombe(p1, n1, p2, n2, z) {
  const limits = (q1, m1, q2, m2, at) => {
    const a = wilson(q1, m1, at), b = wilson(q2, m2, at), d = q1 - q2;
    const low = d - Math.hypot(q1 - a.low, b.high - q2), high = d + Math.hypot(a.high - q1, q2 - b.low);
    return { low: Math.max(-1, low), high: Math.min(1, high) };
  };
  const difference = p1 - p2, swapped = difference < 0;
  const lowest = (at) => (swapped ? limits(p2, n2, p1, n1, at) : limits(p1, n1, p2, n2, at)).low;
  let p = 1;
  if (difference !== 0) {
    const found = lowest(8) > 0 ? 8 : bisected(lowest, 1e-9, 8);
    p = Math.min(1, 2 * normalTail(found));
  }
  return { difference, ...agreeing(limits(p1, n1, p2, n2, z), difference, p), p_value: p };
}

function deviation(values, mean) {
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

const SMALLEST = 1e-60;

// means.py: Student's interval and test of a mean, widened for skewness.
function meanTest(values, level) {
  const n = values.length;
  if (n < 2) return untested(n ? "a single configuration" : "no observations");
  const sorted = Float64Array.from(values).sort();
  let widest = 0, span = 0, largest = 0;
  for (let at = 1; at < n; at++) {
    widest = Math.max(widest, sorted[at] - sorted[at - 1]);
    span += sorted[at] - sorted[at - 1];
  }
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  if (span <= Math.max(SMALLEST, 1e-12 * largest)) return { ...untested("all configurations are equal"), p_value: largest === 0 ? 1 : null };
  if (n < 12 && widest > 2 / 3 * span) return untested("fewer than 12 configurations, in two separate groups");
  const mean = meanOf(values), spread = deviation(values, mean), error = spread / Math.sqrt(n);
  const skewness = meanOf(values.map((value) => (value - mean) ** 3)) / spread ** 3, a = skewness / Math.sqrt(n);
  const t = mean / error, transformed = t + a * t * t / 3 + a * a * t ** 3 / 27 + a / 6;
  const p = Math.min(1, 2 * studentTail(Math.min(Math.abs(t), Math.abs(transformed)), n - 1));
  const limit = studentQuantile((1 - level) / 2, n - 1);
  const inverse = (g) => (Math.abs(a) < 1e-9 ? g : 3 * (Math.cbrt(1 + a * (g - a / 6)) - 1) / a);
  const high = mean - Math.min(-limit, inverse(-limit)) * error, low = mean - Math.max(limit, inverse(limit)) * error;
  return { ...agreeing({ low, high }, mean, p), p_value: p };
}

// independent.py: Welch's test of the mean scores of two arms that share no configurations.
function welch(first, second, level) {
  if (!first.length || !second.length) return { difference: null, ...untested("no observations") };
  const means = [meanOf(first), meanOf(second)], difference = means[0] - means[1];
  if (Math.min(first.length, second.length) < 2) return { difference, ...untested("a single configuration") };
  const errors = [first, second].map((values, at) => deviation(values, means[at]) ** 2 / values.length);
  let largest = 0;
  for (const value of [...first, ...second]) largest = Math.max(largest, Math.abs(value));
  const both = errors[0] + errors[1];
  if (both <= Math.max(SMALLEST, 1e-12 * largest) ** 2) return { difference, ...untested("all configurations are equal") };
  const error = Math.sqrt(both);
  const freedom = both ** 2 / (errors[0] ** 2 / (first.length - 1) + errors[1] ** 2 / (second.length - 1));
  const p = Math.min(1, 2 * studentTail(Math.abs(difference) / error, freedom));
  const half = studentQuantile((1 - level) / 2, freedom) * error;
  return { difference, ...agreeing({ low: difference - half, high: difference + half }, difference, p), p_value: p };
}

// paired.py: p-values of one family, corrected step by step from the smallest; null stays null.
function corrected(entries) {
  const known = entries.filter((entry) => entry.p_value !== null).sort((a, b) => a.p_value - b.p_value);
  let highest = 0;
  known.forEach((entry, place) => {
    highest = Math.max(highest, Math.min(1, (known.length - place) * entry.p_value));
    entry.p_adjusted = highest;
  });
  return entries;
}
