// The data of the page: facts as JSON, arrays in one compressed block, and the numbers that regressions are solved with.

const SHARES = 32767;
const LEAST_ERROR = 1e-9,
  MOST_ERROR = 1e3,
  ERROR_STEPS = 65533,
  INFINITE = 65534,
  UNKNOWN = 65535;

async function readArrays({ arrays, block }) {
  const packed = Uint8Array.from(atob(block), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer()),
    found = {};
  const kinds = { f8: Float64Array, i2: Int16Array, u2: Uint16Array, u1: Uint8Array };
  for (const [name, [dtype, at, count]] of Object.entries(arrays)) {
    const size = Number(dtype[1]),
      own = new Uint8Array(count * size);
    for (let rank = 0; rank < size; rank++) {
      // bytes of the same rank stand together, the lowest first
      const from = at + rank * count;
      for (let i = 0; i < count; i++) own[i * size + rank] = bytes[from + i];
    }
    found[name] = new kinds[dtype](own.buffer);
  }
  return found;
}

/** Correlations by pair of features: value, standard error, and whether it is clear of noise. */
function correlationsOf(data, arrays) {
  const d = data.features.length,
    upper = (i, j) => (i <= j ? i * d - (i * (i - 1)) / 2 + j - i : j * d - (j * (j - 1)) / 2 + i - j);
  const { correlation: values, correlation_error: errors, correlation_clear: clear } = arrays;
  const whole = !data.correlation.rounded;
  return {
    value: (i, j) => (whole ? values[upper(i, j)] : values[upper(i, j)] / SHARES),
    error: (i, j) => {
      const code = errors[upper(i, j)];
      if (whole) return code;
      if (code >= INFINITE) return code === UNKNOWN ? NaN : Infinity;
      return LEAST_ERROR * (MOST_ERROR / LEAST_ERROR) ** (code / ERROR_STEPS);
    },
    clear: (i, j) => clear[upper(i, j)] === 1,
  };
}

/** What `ridge` takes: made when the first model is wanted, as large matrices take a second. */
function regressionData(data, arrays) {
  const facts = data.regression,
    d = data.features.length;
  const held = {
    d,
    n: facts.rows,
    radius: facts.radius,
    constant: facts.constant,
    pairs: facts.pairs,
    isRaw: facts.isRaw,
    tellsNoise: facts.tellsNoise,
    columns: data.columnOf,
    reference: facts.references,
    scales: arrays.scales,
    offsets: arrays.offsets,
    rowsSeen: arrays.rows_seen,
    quantiles: arrays.quantiles,
    limits: arrays.limits,
    comparable: arrays.comparable,
    mean: facts.centred ? arrays.mean : null,
  };
  if (facts.units !== null) {
    const width = arrays.units_owner.length;
    const units = {
      ...facts.units,
      back: arrays.units_back,
      forward: arrays.units_forward,
      centre: arrays.units_centre,
      mean: arrays.units_mean,
      seen: arrays.units_seen,
      owner: Array.from(arrays.units_owner),
      covariance: symmetric(arrays.units_covariance, width),
      raw: symmetric(arrays.units_raw, width),
    };
    return { ...held, columns: Array.from(arrays.units_column), units };
  }
  const { noise, raw } = facts,
    basis = arrays.noise_basis;
  const matrix = (name, values) => (facts.spectral ? assembled(basis, values, d) : symmetric(arrays[name], d));
  return {
    ...held,
    units: null,
    covariance: matrix(
      'covariance',
      arrays.noise_values?.map(x => x * noise.unit ** 2),
    ),
    raw:
      raw === null
        ? null
        : {
            ...raw,
            mean: arrays.raw_mean,
            covariance: matrix(
              'raw_covariance',
              arrays.noise_noisy?.map(x => x * noise.stretch),
            ),
          },
    noise: noiseLevel(noise, arrays, d),
  };
}

function noiseLevel(noise, arrays, d) {
  if (noise === null) return null;
  if (noise.kind === 'eigenbasis') {
    const mean = noise.lifted ? arrays.noise_mean : null;
    return inEigenbasis({
      ...noise,
      basis: arrays.noise_basis,
      values: arrays.noise_values,
      noisy: arrays.noise_noisy,
      mean,
      variances: arrays.noise_variances,
    });
  }
  const back = arrays.noise_back,
    width = back.length / d;
  return places => {
    const rows = new Float64Array(places.length * width);
    places.forEach((place, i) => rows.set(back.subarray(place * width, (place + 1) * width), i * width));
    return inCoordinates(rows, noise.variance, places.length - 1, width);
  };
}
