// Ridge regression from a release, by the closed form of Release.ridge: what docs/ridge.md derives, file by file of dpcov.uses.

const CLEARLY_POSITIVE = 1e-9; // of the largest entry, for each column: a larger penalty makes a system safely solvable
const SINGULAR = 1e-12; // of the largest eigenvalue: below it directions have no coefficients
const CAUTION = 1.3;
const HALF_THE_RISK = 0.5;
const LEAST_POWER = -40,
  MOST_POWER = 10; // of two, times the largest eigenvalue: penalties that are tried
const NOTHING_LEFT = 2 ** 40;

/** The system of one regression: coordinates of the features, then that of the target. */
function systemOf(held, place, places) {
  return held.units === null ? encodedSystem(held, place, places) : systemInUnits(held, place, places);
}

function encodedSystem(held, place, places) {
  const order = [...places, place],
    m = places.length;
  const forward = new Float64Array(m * m);
  for (let i = 0; i < m; i++) forward[i * m + i] = 1;
  return {
    held,
    place,
    places,
    m,
    size: 1,
    radius: held.radius,
    centre: new Float64Array(m),
    targetCentre: 0,
    forward,
    covariance: chosen(held.covariance, held.d, order),
    noise: held.noise === null ? null : held.noise(order),
    raw: held.raw === null ? null : rawOf(held.raw, order),
  };
}

/** Columns are orthonormal coordinates of their private units; the target is a direction among them. */
function systemInUnits(held, place, places) {
  const units = held.units,
    width = units.owner.length;
  const target = units.back.subarray(place * width, (place + 1) * width),
    size = Math.sqrt(dot(target, target));
  const columns = new Set(places.map(j => held.columns[j])),
    own = [];
  for (const column of columns) for (let k = 0; k < width; k++) if (units.owner[k] === column) own.push(k);
  const m = own.length,
    rows = new Float64Array((m + 1) * width),
    forward = new Float64Array(places.length * m);
  own.forEach((k, i) => {
    rows[i * width + k] = 1;
  });
  for (let k = 0; k < width; k++) rows[m * width + k] = size > 0 ? target[k] / size : 0;
  places.forEach((j, i) =>
    own.forEach((k, at) => {
      if (held.columns[j] === units.owner[k]) forward[i * m + at] = units.forward[j * width + k];
    }),
  );
  const between = (matrix, by) =>
    product(product(by, matrix, m + 1, width, width), transposed(by, m + 1, width), m + 1, width, m + 1);
  const seen = rows.map((x, i) => x / units.seen[i % width]);
  return {
    held,
    place,
    places,
    m,
    size,
    radius: 1,
    forward,
    centre: Float64Array.from(places, j => units.centre[j]),
    targetCentre: units.centre[place],
    covariance: between(units.covariance, rows),
    noise: inCoordinates(seen, units.left, m, width),
    raw: rawInUnits(units, rows, seen, m, width, between),
  };
}

function rawOf(raw, order) {
  return {
    ...raw,
    covariance: chosen(raw.covariance, raw.mean.length, order),
    mean: Float64Array.from(order, j => raw.mean[j]),
  };
}

function rawInUnits(units, rows, seen, m, width, between) {
  const within = units.raw.map((x, i) => {
    const row = Math.floor(i / width),
      column = i % width;
    return x * (units.owner[row] === units.owner[column] ? units.seen[column] : 1);
  });
  let least = 1;
  rows.forEach((x, i) => {
    if (x !== 0) least = Math.min(least, units.seen[i % width]);
  });
  const off = units.variance / least ** 4;
  return {
    covariance: between(within, seen),
    mean: product(seen, units.mean, m + 1, width, 1),
    diagonal: 2 * off,
    off,
    along: units.meanVariance / least ** 2,
    gain: units.weightError,
    gainPeaked: units.peaked,
    peaked: units.peaked,
    independent: units.independent,
  };
}

/** The covariances of the predictors, those with the target, and the target's variance. */
function normalEquations(covariance, m) {
  const predictors = new Float64Array(m * m),
    aim = new Float64Array(m);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < m; j++) predictors[i * m + j] = covariance[i * (m + 1) + j];
    aim[i] = covariance[i * (m + 1) + m];
  }
  return { predictors, aim, variance: covariance[(m + 1) * (m + 1) - 1] };
}

/** (C₊ + α)⁻¹ c, with C₊ the positive semidefinite part of C. */
function solved(matrix, aim, alpha, isRaw) {
  const m = aim.length,
    scale = largestSize(matrix);
  if (!(scale > 0 && scale < Infinity)) return new Float64Array(m);
  const unit = matrix.map(x => x / scale),
    target = aim.map(x => x / scale),
    penalty = alpha / scale;
  if (penalty === Infinity) return new Float64Array(m);
  if (!isRaw && penalty >= CLEARLY_POSITIVE * m) {
    const lifted = Float64Array.from(unit);
    for (let i = 0; i < m; i++) lifted[i * m + i] += penalty;
    const found = choleskySolve(lifted, target);
    if (found !== null) return found; // else rounding has left it indefinite after all
  }
  const { values, vectors } = eigh(unit, m),
    found = new Float64Array(m);
  const most = Math.max(values[m - 1], 0) + penalty;
  for (let k = 0; k < m; k++) {
    const lifted = Math.max(values[k], 0) + penalty;
    if (!(lifted > SINGULAR * most)) continue;
    let along = 0;
    for (let i = 0; i < m; i++) along += vectors[i * m + k] * target[i];
    for (let i = 0; i < m; i++) found[i] += (vectors[i * m + k] * along) / lifted;
  }
  return found;
}

/** The penalty that the release's own noise asks for: the largest whose residual noise explains. */
function automaticPenalty(system) {
  const { covariance, m } = system,
    scale = largestSize(covariance);
  if (!(scale > 0 && scale < Infinity)) return system.radius ** 2;
  const { values, vectors } = eigh(
      covariance.map(x => x / scale),
      m + 1,
    ),
    top = values[m];
  if (!(top > 0)) return system.radius ** 2;
  const largest = top * scale,
    parts = values.map(x => Math.max(x / top, 0));
  return largest * penaltyInUnits(parts, vectors, system.noise, m, largest);
}

function penaltyInUnits(values, vectors, noise, m, largest) {
  const width = m + 1,
    own = vectors.subarray(m * width, width * width);
  const column = weights => product(vectors, weights, width, width, 1);
  const moments = column(own.map((x, k) => x * values[k]));
  moments[m] = 0;
  const alphas = [],
    directions = [];
  for (let power = LEAST_POWER; power <= MOST_POWER; power++) {
    const alpha = 2 ** power,
      u = column(own.map((x, k) => x / (values[k] + alpha))),
      last = u[m];
    alphas.push(alpha);
    directions.push(u.map(x => x / last));
  }
  const none = new Float64Array(width);
  none[m] = 1;
  const squares = noise.squares([...directions, none], largest).map(x => CAUTION ** 2 * x);
  if (dot(moments, moments) <= squares[alphas.length]) return NOTHING_LEFT;
  const excess = directions.map((u, i) => {
    const w = u.map(x => -x);
    w[m] = 0;
    const residual = alphas[i] * Math.sqrt(dot(w, w)),
      along = alphas[i] * Math.max(dot(w, moments), 0);
    const value = Math.log2((residual * Math.sqrt(along)) / squares[i]);
    return Number.isNaN(value) ? 0 : Math.min(Math.max(value, -2000), 2000);
  });
  const beyond = excess.findIndex(x => x > 0); // the first that is too large
  if (beyond === 0) return alphas[0];
  if (beyond < 0) return NOTHING_LEFT;
  const low = excess[beyond - 1],
    high = excess[beyond];
  return alphas[beyond - 1] * 2 ** (low / (low - high));
}

/** About which share of the target's variance coefficients explain, without what they gain from noise alone. */
function gain(system, aim, weights, noiseAlong, alpha) {
  const m = aim.length,
    moved = product(system, weights, m, m, 1);
  const gained = 2 * dot(weights, aim) - dot(weights, moved);
  const { values, vectors } = eigh(system, m),
    along = noiseAlong(vectors);
  let seeming = 0;
  for (let k = 0; k < m; k++) {
    const lifted = Math.max(values[k], 0) + alpha;
    if (lifted > 0) seeming += (2 * along[k]) / lifted;
  }
  return Number.isFinite(gained - seeming) ? Math.min(Math.max(gained - seeming, 0), 1) : 0;
}

const withTarget = along => Float64Array.from([...along.map(x => -x), 1]); // u = (−w, 1)

function explainedShare(system, alpha, along) {
  const { predictors, aim, variance } = normalEquations(system.covariance, system.m);
  if (!(variance > 0)) return 0;
  const noise = vectors => system.noise.residualAlong(vectors, withTarget(along), variance);
  return gain(
    predictors.map(x => x / variance),
    aim.map(x => x / variance),
    along,
    noise,
    alpha / variance,
  );
}

function explainedByLeastSquares(least, m) {
  const { predictors, aim, variance } = normalEquations(least.covariance, m);
  if (!(variance > 0)) return 0;
  const noise = vectors => alongVectors(least.residual, vectors, m).map(x => x / variance / variance);
  return gain(
    predictors.map(x => x / variance),
    aim.map(x => x / variance),
    least.along,
    noise,
    0,
  );
}

/** v_j·K v_j for columns of v. */
function alongVectors(matrix, vectors, m) {
  const turned = product(matrix, vectors, m, m, m),
    found = new Float64Array(m);
  for (let i = 0; i < m; i++) for (let j = 0; j < m; j++) found[j] += vectors[i * m + j] * turned[i * m + j];
  return found;
}

/** The standard error of that share, of noise and of the draw of rows. */
function explainedError(system, least, along, share, rows) {
  const m = system.m;
  let whole, residual, own;
  if (least !== null) {
    own = Math.max(system.raw.diagonal, 2 * system.raw.off);
    whole = normalEquations(least.covariance, m).variance;
    residual = own * (1 + dot(along, along)) ** 2;
  } else {
    const y = new Float64Array(m + 1);
    y[m] = 1;
    whole = normalEquations(system.covariance, m).variance;
    residual = system.noise.formVariance(withTarget(along));
    own = system.noise.formVariance(y);
  }
  if (!(whole > 0)) return Infinity;
  const t = 1 - share,
    noise = Math.max(residual - (1 - (1 - t) ** 2) * own, share ** 2 * own) / whole / whole;
  return Math.sqrt(noise + (4 * share * t * t) / Math.max(rows, 1));
}

/** Whether a penalty does not clearly have the smaller estimated risk. */
function leastSquaresWins(least, m, alpha, along) {
  const { predictors } = normalEquations(least.covariance, m),
    { values, vectors } = eigh(predictors, m);
  const noise = alongVectors(least.residual, vectors, m),
    moved = along.map((x, i) => x - least.along[i]);
  let own = 0,
    penalised = 0;
  for (let k = 0; k < m; k++) {
    own += noise[k] / values[k];
    penalised += noise[k] / (values[k] + alpha);
  }
  return dot(moved, product(predictors, moved, m, m, 1)) + 2 * penalised - own >= HALF_THE_RISK * own;
}

const encodedOf = (system, along) =>
  product(system.forward, along, system.places.length, system.m, 1).map(x => x * system.size);

/**
 * A model as Release.ridge(target, alpha=alpha, features=...) returns it; alpha "auto" or a number. Features are whole
 * columns, in the order of the release.
 */
function ridge(held, place, places, alpha) {
  const references = places.filter(j => held.reference[held.columns[j]] === j);
  const system = systemOf(held, place, places),
    automatic = alpha === 'auto';
  const { predictors, aim } = normalEquations(system.covariance, system.m);
  const penalty = automatic ? automaticPenalty(system) : alpha;
  const along = solved(predictors, aim, penalty, held.isRaw);
  let fit = inUserUnits(held, system, encodedOf(system, along), penalty, along, null);
  if (automatic || alpha === 0) {
    const kept = places.filter(j => !references.includes(j));
    const own = held.units !== null || references.length === 0 ? system : systemOf(held, place, kept);
    const least = leastSquares(own);
    if (least !== null) {
      const found = inUserUnits(held, own, encodedOf(own, least.along), 0, least.along, least);
      if (!automatic || leastSquaresWins(least, own.m, penalty / own.radius ** 2, comparable(held, system, own, fit)))
        fit = found;
    }
  }
  return comparedWithReferences(held, fit, references);
}

/** The penalised coefficients in the coordinates of least squares, where a level of each column has none. */
function comparable(held, system, own, fit) {
  if (system === own) return fit.along;
  const at = new Map(system.places.map((j, i) => [j, i]));
  return Float64Array.from(own.places, j => {
    const reference = held.reference[held.columns[j]];
    return fit.encoded[at.get(j)] - (reference >= 0 && !own.places.includes(reference) ? fit.encoded[at.get(reference)] : 0);
  });
}

function inUserUnits(held, system, encoded, alpha, along, least) {
  const { place, places } = system,
    unit = held.scales[place];
  const coefficients = encoded.map((x, i) => x * (unit / held.scales[places[i]]));
  let intercept = 0;
  if (least !== null && held.constant) {
    const wanted = wantedOf(system),
      width = system.m + 1,
      last = wanted.subarray(wanted.length - width);
    intercept = held.offsets[place] + unit * system.targetCentre + unit * dot(last, [least.intercept, ...least.along]);
  } else if (held.mean !== null)
    intercept =
      held.mean[place] -
      dot(
        coefficients,
        places.map(j => held.mean[j]),
      );
  if (held.pairs) intercept = NaN; // differences of rows know no mean
  return { system, encoded, coefficients, intercept, alpha, along, least };
}

/** Levels as differences from their references, which count in the intercept. */
function comparedWithReferences(held, fit, references) {
  const places = fit.system.places,
    at = new Map(places.map((j, i) => [j, i]));
  const inside = references.filter(j => at.has(j)),
    own = new Map(inside.map(j => [held.columns[j], fit.coefficients[at.get(j)]]));
  const reported = places.filter(j => !references.includes(j));
  return {
    ...fit,
    references,
    reported,
    coefficients: Float64Array.from(reported, j => fit.coefficients[at.get(j)] - (own.get(held.columns[j]) ?? 0)),
    intercept: inside.reduce((sum, j) => sum + own.get(held.columns[j]), fit.intercept),
  };
}

/** What share of the target's variance a model explains, and its standard error; NaN where the release does not tell. */
function explained(held, fit) {
  const { system, least, along, alpha } = fit;
  if (!held.tellsNoise) return { share: NaN, error: NaN };
  const share = least !== null ? explainedByLeastSquares(least, system.m) : explainedShare(system, alpha, along);
  return { share, error: explainedError(system, least, along, share, held.n) };
}
