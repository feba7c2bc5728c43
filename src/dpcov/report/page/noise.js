// What is left of the noise in a denoised covariance: the laws of dpcov.uses.noise_level.

const MOST_SLOPE = 1; // denoising never makes noise larger

/** The noise of a release whose estimate was made of one noisy matrix, or of drawn directions: independent in an eigenbasis. */
function inEigenbasis(held) {
  const width = held.values.length;
  const variances = held.variances ?? variancesOfSlopes(held);
  /** Rows of features in the basis, about the mean where there is one. */
  const rowsOf = places => {
    const lifted = held.mean !== null,
      rows = new Float64Array(places.length * width);
    places.forEach((place, i) => {
      const moved = lifted ? held.mean[place] / (held.corner * held.unit) : 0;
      for (let k = 0; k < width; k++) {
        rows[i * width + k] = held.basis[(place + lifted) * width + k] - (lifted ? moved * held.basis[k] : 0);
      }
    });
    return rows;
  };
  return places => {
    const rows = rowsOf(places),
      m = places.length - 1; // the target is the last
    const factor = scale => (held.unit / scale) * held.unit;
    const squaresAlong = u => product(u, rows, 1, m + 1, width).map(x => x * x);
    return {
      /** v_j·K v_j for columns of v, K the covariance of the noise in the normal equations of u. */
      residualAlong(vectors, u, scale) {
        const z = squaresAlong(u),
          noise = new Float64Array(width);
        for (let i = 0; i < width; i++) {
          let sum = 0;
          for (let k = 0; k < width; k++) sum += variances[i * width + k] * z[k];
          noise[i] = sum * factor(scale) ** 2;
        }
        const turned = product(transposed(vectors, m, m), rows, m, m, width),
          found = new Float64Array(m);
        for (let j = 0; j < m; j++) {
          for (let k = 0; k < width; k++) found[j] += turned[j * width + k] ** 2 * noise[k];
        }
        return found;
      },
      /** The expected square of that noise for each of several u. */
      squares(directions, scale) {
        const features = new Float64Array(width),
          weights = new Float64Array(width);
        for (let i = 0; i < m; i++) for (let k = 0; k < width; k++) features[k] += rows[i * width + k] ** 2;
        for (let i = 0; i < width; i++) {
          for (let k = 0; k < width; k++) weights[k] += variances[i * width + k] * features[i];
        }
        return directions.map(u => dot(squaresAlong(u), weights) * factor(scale) ** 2);
      },
      /** The variance of u·E u. */
      formVariance(u) {
        const parts = squaresAlong(u).map(x => x * held.unit * held.unit);
        let sum = 0;
        for (let i = 0; i < width; i++) {
          let inner = 0;
          for (let k = 0; k < width; k++) inner += (i === k ? 1 : 2) * variances[i * width + k] * parts[k];
          sum += inner * parts[i];
        }
        return sum;
      },
    };
  };
}

/** The variances of noise after denoising: it is multiplied with (ξᵢ − ξₖ)/(nᵢ − nₖ) for noisy values n, denoised ξ. */
function variancesOfSlopes({ noisy, values, stretch, diagonal, off }) {
  const n = noisy.length,
    found = new Float64Array(n * n),
    beside = [];
  const slope = (i, k) => {
    const value = (values[i] - values[k]) / ((noisy[i] - noisy[k]) * stretch);
    return Number.isNaN(value) ? 0 : Math.min(Math.max(value, 0), MOST_SLOPE);
  };
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) if (i !== k) found[i * n + k] = off * stretch ** 2 * slope(i, k) ** 2;
    if (i + 1 < n) beside.push(slope(i, i + 1));
  }
  for (let i = 0; i < n; i++) {
    const own = n === 1 ? 1 : Math.max(beside[i] ?? 0, beside[i - 1] ?? 0);
    found[i * n + i] = diagonal * stretch ** 2 * own ** 2;
  }
  return found;
}

/** Isotropic noise in coordinates, with the way back to the rows of a system, of which the target's is the last. */
function inCoordinates(back, variance, m, width) {
  const inner = (u, scale) => product(u, back, 1, m + 1, width).map(x => x / Math.sqrt(scale));
  return {
    residualAlong(vectors, u, scale) {
      const z = inner(u, scale),
        length = dot(z, z),
        found = new Float64Array(m);
      const turned = product(transposed(vectors, m, m), back, m, m, width).map(x => x / Math.sqrt(scale));
      for (let j = 0; j < m; j++) {
        const row = turned.subarray(j * width, (j + 1) * width),
          along = dot(row, z);
        found[j] = variance * (length * dot(row, row) + along * along);
      }
      return found;
    },
    squares(directions, scale) {
      let size = 0;
      for (let i = 0; i < m * width; i++) size += back[i] ** 2 / scale;
      return directions.map(u => {
        const z = inner(u, scale);
        let moved = 0;
        for (let i = 0; i < m; i++) moved += dot(back.subarray(i * width, (i + 1) * width), z) ** 2 / scale;
        return variance * (dot(z, z) * size + moved);
      });
    },
    formVariance(u) {
      const z = inner(u, 1);
      return 2 * variance * dot(z, z) ** 2;
    },
  };
}
