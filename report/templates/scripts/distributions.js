// Tails of the standard normal and of Student's distribution, to the precision of a double.

// P(Z > z) for z >= 0: a series near the middle, else the continued fraction of Mills' ratio.
function normalTail(z) {
  const density = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
  if (z < 2.5) {
    let term = z, sum = z;
    for (let odd = 3; term > 1e-18 * sum; odd += 2) sum += term *= z * z / odd;
    return 0.5 - density * sum;
  }
  let ratio = z;
  for (let k = 200; k > 0; k--) ratio = z + k / ratio;
  return density / ratio;
}

// log(Gamma(a + 1/2) / Gamma(a)), by its asymptotic series after raising a.
function logGammaRatio(a) {
  let lowered = 0;
  while (a < 30) {
    lowered += Math.log(a / (a + 0.5));
    a += 1;
  }
  const b = 1 / (a * a);
  return lowered + Math.log(a) / 2 - (1 / 8 - b * (1 / 192 - b * (1 / 640 - b * 17 / 14336))) / a;
}

// The continued fraction of the regularised incomplete beta function at x (Lentz's algorithm).
function betaFraction(x, a, b) {
  const tiny = 1e-300, kept = (value) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), found = d;
  for (let m = 1; m < 20000; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    found *= d * c;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    found *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return found;
}

// P(T > t) for t >= 0 with these degrees of freedom: half the incomplete beta function of df / (df + t^2).
function studentTail(t, freedom) {
  if (t === Infinity) return 0;
  const a = freedom / 2, x = freedom / (freedom + t * t), rest = t * t / (freedom + t * t);
  if (rest === 0) return 0.5;
  const front = Math.exp(logGammaRatio(a) + a * Math.log1p(-rest) + Math.log(rest) / 2) / Math.sqrt(Math.PI);
  if (x < (a + 1) / (a + 2.5)) return front * betaFraction(x, a, 0.5) / a / 2;
  return (1 - 2 * front * betaFraction(rest, 0.5, a)) / 2;
}

// The t with P(T > t) = tail.
function studentQuantile(tail, freedom) {
  let low = 0, high = 1;
  while (studentTail(high, freedom) > tail) high *= 2;
  return bisected((t) => tail - studentTail(t, freedom), low, high);
}

// Where a function that changes sign between two numbers is 0, to the last digit.
function bisected(excess, low, high) {
  const rising = excess(high) > 0;
  for (let step = 0; step < 200; step++) {
    const middle = (low + high) / 2;
    if (middle <= Math.min(low, high) || middle >= Math.max(low, high)) break;
    if (excess(middle) > 0 === rising) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}
