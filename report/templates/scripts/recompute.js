// From a state (restriction and thresholds) to what Python computes of the same trials: `report/comparison/`.

const PLANNED = 1, COUNTED = 2, PAIRED = 4;

// Which trials [units x arms] a restriction keeps.
function keptTrials(study, state) {
  const { units, width } = study, kept = new Uint8Array(units * width);
  const rules = [...state.only].map(([axis, rule]) => {
    const values = study["axis" + axis], ranged = study.axes[axis].stops.length > 0;
    const fits = new Uint8Array(values.length);
    for (let at = 0; at < values.length; at++) {
      const value = values[at];
      if (ranged) fits[at] = Number(Number.isNaN(value) ? rule.none : value >= rule.low && value <= rule.high);
      else fits[at] = Number(value < 0 ? rule.none : rule.levels.has(value));
    }
    // Where arms draw for themselves, a hyperparameter of one arm says nothing about the others.
    return { fits, arm: study.paired ? null : study.axes[axis].arm };
  });
  for (let unit = 0; unit < units; unit++) {
    if (state.tasks && !state.tasks.has(study.task[unit])) continue;
    const configuration = study.configuration[unit];
    for (let arm = 0; arm < width; arm++) {
      const at = unit * width + arm;
      if (!(study.flags[at] & PLANNED)) continue;
      kept[at] = Number(rules.every((rule) => (rule.arm !== null && rule.arm !== arm) || rule.fits[configuration]));
    }
  }
  return kept;
}

// The threshold of having learned nothing that a trial is judged by, which may be that of its cell.
function thresholdOf(study, state, at) {
  const nothing = state.levels.learned_nothing ?? study.levels.learned_nothing;
  return study.threshold ? study.threshold[at] + (nothing - study.levels.learned_nothing) : nothing;
}

// The outcome of every trial at the state's thresholds: 0 learned nothing, 1 between, 2 good.
function judged(study, state) {
  const { sign, score } = study, outcomes = new Uint8Array(score.length), own = study.levels;
  if (own.good === undefined) return outcomes.fill(1);
  const good = state.levels.good ?? own.good;
  for (let at = 0; at < score.length; at++) {
    const value = sign * score[at], limit = sign * thresholdOf(study, state, at);
    const isGood = value >= sign * good, below = study.inclusive ? value <= limit : value < limit;
    if (Number.isNaN(value) || (below && !(study.good_first && isGood))) outcomes[at] = 0;
    else outcomes[at] = isGood ? 2 : 1;
  }
  return outcomes;
}

// The trials of an arm that count: in complete pairs, and kept.
function pairedUnits(study, kept, arm) {
  const found = [];
  for (let unit = 0; unit < study.units; unit++) {
    const at = unit * study.width + arm;
    if (kept[at] && study.flags[at] & PAIRED) found.push(unit);
  }
  return found;
}

// The units of which two arms both count.
function unitsOfBoth(study, kept, first, second) {
  const found = [];
  for (let unit = 0; unit < study.units; unit++) {
    const a = unit * study.width + first, b = unit * study.width + second;
    if (kept[a] && kept[b] && study.flags[a] & study.flags[b] & COUNTED) found.push(unit);
  }
  return found;
}

function fractionOf(study, values, owners) {
  const groups = grouped(values, owners), count = values.reduce((sum, value) => sum + value, 0);
  const entry = {
    count, of: values.length, configurations: groups.k, replicates: groups.sizes.reduce((a, b) => Math.max(a, b), 0),
    effective: effectiveNumber(values, owners), fraction: null, ...NONE,
  };
  if (!values.length) return entry;
  entry.fraction = meanOf(shares(groups));
  return study.watched ? entry : { ...entry, ...wilson(entry.fraction, entry.effective, study.z) };
}

function comparedFractions(study, kept, outcomes, arms, code) {
  const [first, second] = arms, { width } = study;
  const has = (arm) => (unit) => Number(outcomes[unit * width + arm] === code);
  if (!study.paired) {
    const sides = arms.map((arm) => {
      const units = pairedUnits(study, kept, arm), values = units.map(has(arm));
      return [values, units.map((unit) => study.configuration[unit])];
    });
    if (!sides[0][0].length || !sides[1][0].length) return { pairs: 0, difference: null, ...untested("no observations") };
    const fractions = sides.map((side) => meanShare(...side)), sizes = sides.map((side) => effectiveNumber(...side));
    return { pairs: 0, effective: sizes[0] + sizes[1], ...newcombe(fractions[0], sizes[0], fractions[1], sizes[1], study.z) };
  }
  const units = unitsOfBoth(study, kept, first, second), a = units.map(has(first)), b = units.map(has(second));
  const count = (fits) => units.reduce((sum, _, at) => sum + Number(fits(a[at], b[at])), 0);
  const table = {
    pairs: units.length, both: count((x, y) => x && y), only_first: count((x, y) => x && !y),
    only_second: count((x, y) => !x && y), neither: count((x, y) => !x && !y),
  };
  if (!units.length) return { ...table, difference: null, ...untested("no observations") };
  const owners = units.map((unit) => study.configuration[unit]);
  return { ...table, ...(study.tasks.length > 1 ? byTask(study, units, a, b, owners) : pairedTest(a, b, owners, study.z)) };
}

function byTask(study, units, first, second, owners) {
  const strata = new Map();
  units.forEach((unit, at) => {
    const task = study.task[unit];
    if (!strata.has(task)) strata.set(task, { first: [], second: [], owners: [] });
    const part = strata.get(task);
    part.first.push(first[at]);
    part.second.push(second[at]);
    part.owners.push(owners[at]);
  });
  return stratifiedTest([...strata.keys()].sort((a, b) => a - b).map((task) => strata.get(task)), study.z);
}

// The tasks of the trials that are kept and count.
function keptTasks(study, kept) {
  const tasks = new Set();
  for (let at = 0; at < kept.length; at++) {
    if (kept[at] && study.flags[at] & COUNTED) tasks.add(study.task[Math.floor(at / study.width)]);
  }
  return [...tasks].sort((a, b) => a - b);
}

// The mean and standard deviation of each task over the whole study, whatever a reader keeps: each configuration of each
// arm counts once, by the mean of its trials.
function taskScales(study) {
  const own = study.tasks.map(() => new Map());
  for (let at = 0; at < study.filled.length; at++) {
    if (!(study.flags[at] & COUNTED)) continue;
    const unit = Math.floor(at / study.width), cells = own[study.task[unit]];
    const cell = study.configuration[unit] * study.width + at % study.width;
    if (!cells.has(cell)) cells.set(cell, []);
    cells.get(cell).push(study.filled[at]);
  }
  return own.map((cells) => {
    const values = [...cells.values()].map(meanOf), centre = meanOf(values), scale = deviation(values, centre);
    return { centre, scale: scale > 0 ? scale : 1 };
  });
}

// Scores as comparisons take them: the worst for a trial without one; over tasks, in standard deviations of each.
// A restriction to a single task has the metric's own unit.
function comparableScores(study, standardised) {
  if (!standardised) return study.filled;
  const scales = taskScales(study);
  return study.filled.map((score, at) => {
    const { centre, scale } = scales[study.task[Math.floor(at / study.width)]];
    return (score - centre) / scale;
  });
}

function comparedScores(study, kept, scores, arms) {
  const { width } = study, own = (arm) => (unit) => scores[unit * width + arm];
  // Over tasks; on each of them, over replicates.
  const means = (units, arm) => {
    const cells = units.map((unit) => study.configuration[unit] * study.tasks.length + study.task[unit]);
    const within = grouped(units.map(own(arm)), study.tasks.length ? cells : units.map((unit) => study.configuration[unit]));
    return shares(grouped(shares(within), within.starts.map((at) => study.configuration[units[at]])));
  };
  if (!study.paired) {
    const [first, second] = arms.map((arm) => means(pairedUnits(study, kept, arm), arm));
    const { difference, ...tested } = welch(first, second, study.level);
    return { mean_difference: difference, ...tested };
  }
  const units = unitsOfBoth(study, kept, ...arms), first = means(units, arms[0]), second = means(units, arms[1]);
  const differences = first.map((value, at) => value - second[at]);
  const wins = (side) => differences.filter((value) => side * study.sign * value > 0).length;
  return {
    configurations: differences.length, first_wins: wins(1), second_wins: wins(-1),
    mean_difference: differences.length ? meanOf(differences) : null, ...meanTest(differences, study.level),
  };
}

function profileGrid(study) {
  const [low, high] = study.range, step = (high - low) / (study.grid - 1);
  return Array.from({ length: study.grid }, (_, at) => (at === study.grid - 1 ? high : at * step + low));
}

// The share of configurations better than each threshold, and the area under it.
function profileOf(study, kept, arm, grid) {
  const units = pairedUnits(study, kept, arm), { sign } = study;
  if (!units.length) return null;
  const owners = units.map((unit) => study.configuration[unit]), { sizes, starts, k } = grouped(owners, owners);
  const scores = units.map((unit) => sign * study.filled[unit * study.width + arm]);
  const ends = study.range.map((end) => sign * end).sort((a, b) => a - b), limits = grid.map((limit) => sign * limit);
  const steps = new Float64Array(grid.length + 1), areas = [], rising = limits[0] < limits[limits.length - 1];
  for (let group = 0; group < k; group++) {
    let area = 0;
    for (let at = starts[group]; at < starts[group] + sizes[group]; at++) {
      area += (Math.min(Math.max(scores[at], ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0]);
      // It is above the limits before (with falling limits: from) one of them on, which bisection finds.
      let low = 0, high = limits.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (scores[at] > limits[middle] === rising) low = middle + 1;
        else high = middle;
      }
      steps[rising ? 0 : low] += 1 / sizes[group];
      steps[rising ? low : limits.length] -= 1 / sizes[group];
    }
    areas.push(area / sizes[group]);
  }
  let sum = 0;
  const fraction = grid.map((_, at) => (sum += steps[at]) / k);
  const tested = study.watched ? NONE : meanTest(areas, study.level);
  const [least, most] = tested.low === null ? [null, null] : [Math.max(0, tested.low), Math.min(1, tested.high)];
  return { fraction, area: meanOf(areas), area_low: least, area_high: most };
}

const medianOf = (values) => {
  const sorted = Float64Array.from(values).sort(), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

// What was `before` of the same restriction is kept where thresholds change nothing.
function recompute(study, state, before) {
  const kept = before ? before.kept : keptTrials(study, state), outcomes = judged(study, state), { width } = study;
  const codes = { learned_nothing: 0, good: 2 }, names = study.primary ? Object.keys(codes) : [];
  const withoutTest = (entry) => (study.watched ? { ...entry, ...NONE, p_value: null } : entry);
  const arms = study.arms.map((_, arm) => {
    const units = pairedUnits(study, kept, arm), owners = units.map((unit) => study.configuration[unit]);
    const scores = units.map((unit) => study.filled[unit * width + arm]);
    const entry = { trials: units.length, median: scores.length ? medianOf(scores) : null };
    for (const name of names) {
      const values = units.map((unit) => Number(outcomes[unit * width + arm] === codes[name]));
      entry[name] = fractionOf(study, values, owners);
    }
    return entry;
  });
  const paired = names.flatMap((outcome) => corrected(study.compared.map((pair) => ({
    arms: pair, outcome, p_adjusted: null,
    ...withoutTest(comparedFractions(study, kept, outcomes, pair, codes[outcome])),
  }))));
  if (before) return { ...before, outcomes, arms, paired };
  const tasks = keptTasks(study, kept), standardised = study.tasks.length > 1 && tasks.length !== 1;
  const comparable = comparableScores(study, standardised);
  const scores = corrected(study.compared.map((pair) => ({
    arms: pair, p_adjusted: null, ...withoutTest(comparedScores(study, kept, comparable, pair)),
  })));
  const grid = profileGrid(study), profiles = study.arms.map((_, arm) => profileOf(study, kept, arm, grid));
  const configurations = new Set();
  for (let at = 0; at < kept.length; at++) if (kept[at]) configurations.add(study.configuration[Math.floor(at / width)]);
  return { kept, outcomes, arms, paired, scores, tasks, standardised, profiles, grid, configurations: configurations.size };
}
