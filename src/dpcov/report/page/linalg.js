// Small dense linear algebra. A matrix is a flat Float64Array, row after row; its sizes go beside it.

/** a (rows × inner) times b (inner × columns). */
function product(a, b, rows, inner, columns) {
  const found = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const factor = a[i * inner + k];
      if (factor === 0) continue;
      const from = k * columns,
        to = i * columns;
      for (let j = 0; j < columns; j++) found[to + j] += factor * b[from + j];
    }
  }
  return found;
}

function transposed(a, rows, columns) {
  const found = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) found[j * rows + i] = a[i * columns + j];
  return found;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** A symmetric matrix from its upper triangle, row after row. */
function symmetric(upper, n) {
  const found = new Float64Array(n * n);
  for (let i = 0, at = 0; i < n; i++) for (let j = i; j < n; j++) found[i * n + j] = found[j * n + i] = upper[at++];
  return found;
}

/** The rows and columns of a symmetric matrix that are named, in this order. */
function chosen(matrix, n, places) {
  const m = places.length,
    found = new Float64Array(m * m);
  for (let i = 0; i < m; i++) for (let j = 0; j < m; j++) found[i * m + j] = matrix[places[i] * n + places[j]];
  return found;
}

/** V diag(values) Vᵀ for orthonormal columns of V. */
function assembled(vectors, values, n) {
  const scaled = new Float64Array(n * n);
  for (let i = 0; i < n; i++) for (let k = 0; k < n; k++) scaled[i * n + k] = vectors[i * n + k] * values[k];
  const found = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = i; j < n; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += scaled[i * n + k] * vectors[j * n + k];
      found[i * n + j] = found[j * n + i] = sum;
    }
  }
  return found;
}

function largestSize(a) {
  let most = 0;
  for (const value of a) most = Math.max(most, Math.abs(value)); // NaN stays NaN
  return most;
}

/** Solve a·x = b for a positive definite a; null where it is not. */
function choleskySolve(a, b) {
  const n = b.length,
    low = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k++) sum -= low[i * n + k] * low[j * n + k];
      if (i === j) {
        if (!(sum > 0)) return null;
        low[i * n + i] = Math.sqrt(sum);
      } else low[i * n + j] = sum / low[j * n + j];
    }
  }
  const x = Float64Array.from(b);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= low[i * n + k] * x[k];
    x[i] /= low[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= low[k * n + i] * x[k];
    x[i] /= low[i * n + i];
  }
  return x;
}

/**
 * Eigenvalues, ascending, and eigenvectors, in columns, of a symmetric matrix: Householder's tridiagonal form, then the QL
 * method with implicit shifts (Bowdler, Martin, Reinsch and Wilkinson 1968). The work is on rows, as memory is read along them.
 */
function eigh(matrix, n) {
  if (n === 0) return { values: new Float64Array(0), vectors: new Float64Array(0) };
  const a = Float64Array.from(matrix),
    diagonal = new Float64Array(n),
    beside = new Float64Array(n);
  const reflections = [];
  for (let i = n - 1; i > 1; i--) {
    // reflect row i onto its entry left of the diagonal
    let size = 0;
    for (let k = 0; k < i; k++) size = Math.max(size, Math.abs(a[i * n + k]));
    let tail = 0;
    for (let k = 0; k < i - 1; k++) tail = Math.max(tail, Math.abs(a[i * n + k]));
    if (tail === 0) continue;
    const v = new Float64Array(i);
    let square = 0;
    for (let k = 0; k < i; k++) {
      v[k] = a[i * n + k] / size;
      square += v[k] * v[k];
    }
    const length = v[i - 1] > 0 ? -Math.sqrt(square) : Math.sqrt(square);
    const half = square - v[i - 1] * length;
    v[i - 1] -= length;
    const p = new Float64Array(i); // A v / half
    for (let j = 0; j < i; j++) {
      let sum = 0;
      for (let k = 0; k < i; k++) sum += a[j * n + k] * v[k];
      p[j] = sum / half;
    }
    const along = dot(v, p) / (2 * half);
    for (let j = 0; j < i; j++) p[j] -= along * v[j];
    for (let j = 0; j < i; j++) {
      const vj = v[j],
        pj = p[j],
        row = j * n;
      for (let k = 0; k < i; k++) a[row + k] -= vj * p[k] + pj * v[k];
    }
    for (let k = 0; k < i - 1; k++) a[i * n + k] = 0;
    a[i * n + i - 1] = length * size;
    reflections.push({ v, half });
  }
  for (let i = 0; i < n; i++) {
    diagonal[i] = a[i * n + i];
    if (i > 0) beside[i - 1] = a[i * n + i - 1];
  }
  const rows = new Float64Array(n * n); // row k becomes the k-th eigenvector
  for (let i = 0; i < n; i++) rows[i * n + i] = 1;
  for (let r = reflections.length - 1; r >= 0; r--) {
    // of a symmetric product, applied to columns of the identity
    const { v, half } = reflections[r],
      m = v.length;
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let k = 0; k < m; k++) sum += rows[j * n + k] * v[k];
      if (sum === 0) continue;
      sum /= half;
      for (let k = 0; k < m; k++) rows[j * n + k] -= sum * v[k];
    }
  }
  for (let l = 0; l < n; l++) {
    for (let turn = 0; turn < 60; turn++) {
      let m = l;
      while (m < n - 1 && Math.abs(beside[m]) > 2.220446049250313e-16 * (Math.abs(diagonal[m]) + Math.abs(diagonal[m + 1])))
        m++;
      if (m === l) break;
      let g = (diagonal[l + 1] - diagonal[l]) / (2 * beside[l]),
        r = Math.hypot(g, 1);
      g = diagonal[m] - diagonal[l] + beside[l] / (g + (g >= 0 ? r : -r));
      let s = 1,
        c = 1,
        p = 0,
        i = m - 1;
      for (; i >= l; i--) {
        const f = s * beside[i],
          b = c * beside[i];
        r = Math.hypot(f, g);
        beside[i + 1] = r;
        if (r === 0) {
          diagonal[i + 1] -= p;
          beside[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = diagonal[i + 1] - p;
        r = (diagonal[i] - g) * s + 2 * c * b;
        p = s * r;
        diagonal[i + 1] = g + p;
        g = c * r - b;
        const one = i * n,
          next = one + n;
        for (let k = 0; k < n; k++) {
          const z = rows[next + k];
          rows[next + k] = s * rows[one + k] + c * z;
          rows[one + k] = c * rows[one + k] - s * z;
        }
      }
      if (r === 0 && i >= l) continue;
      diagonal[l] -= p;
      beside[l] = g;
      beside[m] = 0;
    }
  }
  const order = Array.from(diagonal.keys()).sort((i, j) => diagonal[i] - diagonal[j]);
  const values = Float64Array.from(order, i => diagonal[i]),
    vectors = new Float64Array(n * n);
  order.forEach((from, k) => {
    for (let i = 0; i < n; i++) vectors[i * n + k] = rows[from * n + i];
  });
  return { values, vectors };
}
