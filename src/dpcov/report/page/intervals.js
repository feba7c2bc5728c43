// Least squares on the raw noisy moments, and intervals about the population: dpcov.uses.coefficient_intervals.

const UNSTABLE = 0.3; // beyond it the inverse of the matrix is too far from linear in the noise
const SHAKY = 0.02; // beyond it standard errors are too often too small
const TINY = 2.2250738585072014e-308;

/** What encoded coefficients are of (b, u), a row each, and at last the intercept less the target's centre. */
function wantedOf(system) {
  const { held, places, m } = system,
    constant = held.constant ? 1 : 0,
    width = m + constant;
  const rows = new Float64Array((places.length + constant) * width);
  places.forEach((_, i) => {
    for (let k = 0; k < m; k++) rows[i * width + constant + k] = system.size * system.forward[i * m + k];
  });
  if (constant) {
    const last = places.length * width;
    rows[last] = system.radius * system.size;
    places.forEach((j, i) => {
      const zero = -held.offsets[j] / held.scales[j] - system.centre[i];
      for (let k = 0; k < m; k++) rows[last + 1 + k] += zero * system.size * system.forward[i * m + k];
    });
  }
  return rows;
}

/** The linear system of least squares in the raw moments, in units of the radius; null where there is none. */
function linearSystem(system) {
  const { raw, m, held } = system;
  if (raw === null || m === 0 || system.size === 0) return null;
  const centred = held.constant ? 1 : 0,
    width = m + centred;
  const { predictors, aim, variance } = normalEquations(raw.covariance, m);
  const { values, vectors } = eigh(predictors, m);
  const floor = SINGULAR * Math.max(largestSize(values), largestSize(raw.covariance));
  const inverse = new Float64Array(m * m);
  let whole = true,
    steep = 0;
  for (let k = 0; k < m; k++) {
    if (!(Math.abs(values[k]) > floor)) {
      whole = false;
      continue;
    }
    steep += 1 / values[k] ** 2;
    for (let i = 0; i < m; i++) {
      const part = vectors[i * m + k] / values[k];
      for (let j = 0; j < m; j++) inverse[i * m + j] += part * vectors[j * m + k];
    }
  }
  const mean = raw.mean.subarray(0, m),
    slopes = product(inverse, aim, m, m, 1),
    turned = product(inverse, slopes, m, m, 1);
  const noise = raw.off + (raw.along * 2 * dot(mean, mean)) / m;
  const shaky = (noise * dot(turned, turned)) / (1 + dot(slopes, slopes));
  if (!(whole && values[0] > 0 && shaky <= SHAKY && noise * steep <= UNSTABLE)) return null;
  let lifted = inverse,
    weights = slopes;
  if (centred) {
    // the inverse of ((1, m), (m, C + mm)), by blocks
    const cross = product(inverse, mean, m, m, 1).map(x => -x);
    lifted = new Float64Array(width * width);
    lifted[0] = 1 - dot(mean, cross);
    for (let i = 0; i < m; i++) {
      lifted[i + 1] = lifted[(i + 1) * width] = cross[i];
      for (let j = 0; j < m; j++) lifted[(i + 1) * width + j + 1] = inverse[i * m + j];
    }
    weights = Float64Array.from([raw.mean[m] - dot(mean, slopes), ...slopes]);
  }
  // the bias that noise gives to the weights: E[K A⁻¹ K], K with independent entries
  const variances = entryVariances(raw, width + 1, centred),
    seeming = new Float64Array(width * width);
  for (let i = 0; i < width; i++) {
    for (let j = 0; j < width; j++) {
      seeming[i * width + i] += variances(i, j) * lifted[j * width + j];
      if (i !== j) seeming[i * width + j] += variances(i, j) * lifted[i * width + j];
    }
  }
  const bias = product(lifted, product(seeming, weights, width, width, 1), width, width, 1);
  const corrected = weights.map((x, i) => x - bias[i]),
    u = Float64Array.from([...corrected, -1]);
  return { raw, m, width, centred, lifted, seeming, corrected, u, variances, variance };
}

/** The variance of an entry of the noise over (1, x, y), by its place; the constant's own is public, or part of the gain. */
function entryVariances(raw, size, centred) {
  return (i, j) => {
    if (centred && (i === 0 || j === 0)) return i === j ? 0 : raw.along;
    return i === j ? raw.diagonal : raw.off;
  };
}

/** Coefficients of coordinates by least squares on the raw moments; null where these are not clear of noise. */
function leastSquares(system) {
  const found = linearSystem(system);
  if (found === null) return null;
  const { m, centred, corrected, u, variances } = found,
    residual = new Float64Array(m * m);
  for (let i = 0; i < m; i++) {
    const row = i + centred;
    for (let j = 0; j < m; j++) residual[i * m + j] = variances(row, j + centred) * u[row] * u[j + centred];
    let own = 0;
    for (let k = 0; k < u.length; k++) own += variances(row, k) * u[k] ** 2;
    residual[i * m + i] = own;
  }
  return {
    along: corrected.subarray(centred),
    intercept: centred ? corrected[0] : 0,
    covariance: found.raw.covariance,
    residual,
  };
}

/** Noise c·K u of rows c: products without the matrix of variances, whose entries above the diagonal are all alike. */
function entryNoise(raw, centred) {
  const own = i => (centred && i === 0 ? 0 : raw.diagonal);
  const above = x => {
    let sum = 0;
    for (let i = centred; i < x.length; i++) sum += x[i];
    return x.map((value, i) =>
      centred && i === 0 ? raw.along * sum : raw.off * (sum - value) + (centred ? raw.along * x[0] : 0),
    );
  };
  return {
    /** The covariance of c·K u and c·K h. */
    products(c, u, h) {
      const both = above(u.map((x, i) => x * h[i])),
        mixed = above(c.map((x, i) => x * u[i]));
      let sum = 0;
      for (let i = 0; i < c.length; i++) sum += c[i] ** 2 * both[i] + mixed[i] * c[i] * h[i] + c[i] ** 2 * u[i] * h[i] * own(i);
      return sum;
    },
    /** The covariances of c·K u with each entry of K u. */
    withEach(c, u) {
      const squares = above(u.map(x => x * x)),
        mixed = above(c.map((x, i) => x * u[i]));
      return c.map((x, i) => x * squares[i] + u[i] * mixed[i] + x * own(i) * u[i] ** 2);
    },
  };
}

/** What the absolute value of a number with variance 1 and this 1/k stays below, at the level of the page. */
function quantile(held, peaked) {
  const nodes = held.quantiles,
    at = Math.min(Math.max(Number.isNaN(peaked) ? 1 : peaked, 0), 1) * (nodes.length - 1);
  const low = Math.min(Math.floor(at), nodes.length - 2);
  return nodes[low] + (at - low) * (nodes[low + 1] - nodes[low]);
}

/**
 * Intervals for the coefficients of least squares on the population, and at last for the intercept, in the user's units: as
 * RidgeModel.interval has them, without what drawn rows say of residuals in private units. Null where they hold everything.
 */
function populationIntervals(held, place, places, references) {
  const kept = held.units !== null ? places : places.filter(j => !references.includes(j));
  const inside = held.units !== null ? references : [];
  const system = systemOf(held, place, kept),
    found = linearSystem(system);
  if (found === null) return null;
  const wanted = comparedRows(held, wantedOf(system), kept, inside, found.width),
    { raw, width, lifted, centred, u } = found;
  const rows = Math.min(...[...kept, place].map(j => held.rowsSeen[j])),
    count = wanted.length / width;
  const noise = entryNoise(raw, centred),
    spread = residualVariance(found) / rows;
  const results = [];
  for (let r = 0; r < count; r++) {
    const row = wanted.subarray(r * width, (r + 1) * width),
      direct = product(row, lifted, 1, width, width);
    const back = product(product(direct, found.seeming, 1, width, width), lifted, 1, width, width);
    const without = direct.map((x, i) => x - back[i]); // what takes off the bias takes off noise, too
    const size = Math.max(largestSize(without), TINY);
    const c = Float64Array.from([...without.map(x => x / size), 0]),
      small = row.map(x => x / size);
    const drawn = Math.max(spread * dot(product(small, lifted, 1, width, width), small), 0);
    const square = centred ? (c[0] * u[0] * raw.gain) ** 2 : 0;
    const each = noise
      .withEach(c, u)
      .subarray(0, width)
      .map((x, i) => x + spread * small[i]);
    const together = Float64Array.from([...product(each, lifted, 1, width, width), 0]);
    results.push({ estimate: dot(row, found.corrected), size, ...fieller(held, raw, noise, c, u, together, square, drawn) });
  }
  const unit = held.scales[place],
    reported = kept.filter(j => !inside.includes(j));
  return results.map((one, i) => {
    const isIntercept = i === reported.length,
      back = isIntercept ? unit : unit / held.scales[reported[i]];
    const origin = isIntercept ? held.offsets[place] + unit * system.targetCentre : 0,
      middle = origin + one.estimate * back;
    return {
      estimate: middle,
      lower: middle - one.below * one.size * back,
      upper: middle + one.above * one.size * back,
      error: one.error * one.size * back,
    };
  });
}

/** Widths below and above of what is as uncertain as u makes it, and the standard error: Fieller's, as for a ratio. */
function fieller(held, raw, noise, c, u, together, square, drawn) {
  const variance = noise.products(c, u, u),
    total = Math.max(variance + square + drawn, TINY);
  const tails = (variance / total) ** 2 * peakedOf(raw, c, u) + (square / total) ** 2 * raw.gainPeaked;
  const factor = quantile(held, tails),
    g = together.map(x => x / total);
  const first = factor ** 2 * noise.products(c, u, g),
    second = 1 - factor ** 2 * noise.products(c, g, g);
  const reach = Math.sqrt(first ** 2 + factor ** 2 * total * second);
  const half = side => (second > 0 ? (reach + side * first) / second : Infinity);
  return { below: half(-1), above: half(1), error: Math.sqrt(total) };
}

/** 1/k of Σ cᵢKᵢⱼuⱼ: of independent entries by how evenly it is spread. */
function peakedOf(raw, c, u) {
  if (!raw.independent) return raw.peaked;
  const power = (a, p) => a.reduce((sum, x) => sum + x ** p, 0);
  return ((power(c, 4) / Math.max(power(c, 2), TINY) ** 2) * power(u, 4)) / power(u, 2) ** 2;
}

/** The variance of the target, given the features; never below its own standard error. */
function residualVariance({ raw, m, centred, u }) {
  const w = u.subarray(centred),
    found = dot(w, product(raw.covariance, w, m + 1, m + 1, 1)) + raw.along * dot(w, w);
  return Math.max(found, Math.sqrt(raw.off * 2) * dot(w, w));
}

/** Rows for coefficients, and at last the intercept, as differences from reference levels. */
function comparedRows(held, rows, places, references, width) {
  if (references.length === 0) return rows;
  const at = new Map(places.map((j, i) => [j, i])),
    row = i => rows.subarray(i * width, (i + 1) * width);
  const ofColumn = new Map(references.map(j => [held.columns[j], j])),
    found = [];
  places.forEach((j, i) => {
    if (references.includes(j)) return;
    const reference = ofColumn.get(held.columns[j]);
    found.push(reference === undefined ? row(i) : row(i).map((x, k) => x - row(at.get(reference))[k]));
  });
  const last = Float64Array.from(row(places.length));
  for (const j of references)
    row(at.get(j)).forEach((x, k) => {
      last[k] += x / held.scales[j];
    });
  return Float64Array.from([...found, last].flatMap(one => Array.from(one)));
}
