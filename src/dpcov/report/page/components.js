// Principal components: what lies along each beside the edge of the noise, what they are made of, and two of them as a map.

const MOST_ARROWS = 24,
  MOST_LABELS = 14;

function showComponents(data, arrays) {
  const facts = data.components,
    seen = facts.standingOut ?? facts.shown;
  const part = section('components', 'Components', `The directions in which people differ most. ${componentCount(facts)}`);
  const bars = make(
    'div',
    {},
    make('h3', {}, 'Spectrum'),
    spectrum(facts),
    make('p', { class: 'note' }, spectrumWords(facts)),
    notes(facts.notes),
  );
  const grid = make('div', { class: 'split even' }, bars);
  part.append(grid);
  if (facts.shown >= 2 && seen >= 2) grid.append(biplotPart(data, arrays));
  if (seen >= 1) part.append(make('h3', {}, 'Loadings'), loadingsTable(data, arrays));
}

function componentCount({ standingOut, explained, directions }) {
  if (standingOut === null) return 'How many of them stand out of the noise, this release does not tell.';
  if (standingOut === 0) return 'None of them stands out of the noise.';
  const of = explained.length < directions ? `the first ${explained.length}` : `${explained.length}`;
  const all = standingOut === explained.length;
  return `${all ? 'All' : `The first ${standingOut}`} of ${of} stand${standingOut === 1 ? 's' : ''} out of the noise.`;
}

function spectrumWords({ edge, standingOut, explained, what, shareError }) {
  const dashed = edge.some(one => one !== null) ? ' Dashed: the most that noise alone would put there.' : '';
  const grey = standingOut !== null && standingOut < explained.length ? ' Grey bars are noise.' : '';
  const lines = shareError.some(one => one !== null) ? ' Thin lines: ± one standard error.' : '';
  const lower = explained.some((value, i) => i < (standingOut ?? 0) && edge[i] !== null && value < edge[i])
    ? ' A bar may end below the line all the same: what was answered was above it, and then denoised.'
    : '';
  return `Bars: the share of the ${what} along each component.${lines}${dashed}${lower}${grey}`;
}

function spectrum({ explained, explainedError, edge, standingOut, share }) {
  const width = 520,
    height = 240,
    left = 44,
    bottom = 26,
    count = explained.length,
    seen = standingOut ?? count;
  const total = share[0] > 0 ? explained[0] / share[0] : 1,
    tops = explained.map((value, i) => value + (i < seen ? (explainedError[i] ?? 0) : 0));
  const most = (Math.max(...tops, ...edge.filter((one, i) => one !== null && (seen === 0 || i <= seen))) / total) * 1.06;
  const y = value => height - bottom - (value / total / most) * (height - bottom - 8),
    step = (width - left - 6) / count;
  const x = i => left + (i + 0.5) * step,
    half = Math.min(step * 0.36, 22);
  const edges = edge.map((one, i) =>
    one === null
      ? null
      : `${x(i) - step / 2},${y(Math.min(one, most * total))} ${x(i) + step / 2},${y(Math.min(one, most * total))}`,
  );
  const label = `Bars of the share of variance along ${count} components, of which ${seen} stand out of the noise.`;
  return drawn(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    roundTicks(0, most, 4).map(tick => [
      drawn('line', { class: 'gridline', x1: left, x2: width - 4, y1: y(tick * total), y2: y(tick * total) }),
      drawn(
        'text',
        { class: 'soft', x: left - 6, y: y(tick * total) + 4, 'text-anchor': 'end' },
        seen > 0 ? `${plain(100 * tick)} %` : '',
      ),
    ]), // of nothing but noise there is no total
    explained.map((value, i) =>
      drawn('rect', {
        class: i < seen ? 'value' : 'drowned',
        x: x(i) - half,
        width: 2 * half,
        y: y(value),
        height: Math.max(height - bottom - y(value), 0.5),
        'stroke-width': 0.5,
      }),
    ),
    explained.map((value, i) =>
      i < seen && explainedError[i] !== null
        ? drawn('line', {
            class: 'error',
            x1: x(i),
            x2: x(i),
            y1: y(Math.max(value - explainedError[i], 0)),
            y2: y(value + explainedError[i]),
          })
        : null,
    ),
    edges.some(one => one !== null)
      ? drawn('polyline', { class: 'edge', points: edges.filter(one => one !== null).join(' ') })
      : null,
    explained.map((_, i) =>
      count <= 20 || i % 10 === 9 || i === 0
        ? drawn('text', { class: 'soft', x: x(i), y: height - 8, 'text-anchor': 'middle' }, String(i + 1))
        : null,
    ),
  );
}

function loadingAt(data, arrays) {
  const d = data.features.length;
  return (component, feature) => ({
    value: arrays.loadings[component * d + feature],
    error: arrays.loadings_error[component * d + feature],
    clear: arrays.loadings_clear[component * d + feature] === 1,
  });
}

function loadingsTable(data, arrays) {
  const facts = data.components,
    of = loadingAt(data, arrays),
    d = data.features.length;
  const legibleOnes = Array.from({ length: facts.shown }, (_, k) => k).filter(
    k => facts.determined[k] && (facts.standingOut === null || k < facts.standingOut),
  );
  if (!legibleOnes.length)
    return make('p', { class: 'note' }, 'None is determined: other directions explain as much, as far as errors can tell.');
  const size = j => Math.max(...legibleOnes.map(k => (of(k, j).clear ? Math.abs(of(k, j).value) : 0)));
  const order = Array.from({ length: d }, (_, j) => j).sort((i, j) => size(j) - size(i));
  const line = j =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, named(data.features[j])),
      legibleOnes.map(k => {
        const { value, error, clear } = of(k, j);
        if (!clear) return numberCell(NOISE);
        const [number, own] = rounded(value, error);
        const text = Number.isFinite(error) ? number : fixed(value, 2); // of an unknown error two digits
        return numberCell(`${value > 0 ? '+' : ''}${text} ± ${own}`, { 'data-value': value });
      }),
    );
  return longTable('Loadings', ['feature', ...legibleOnes.map(k => `#PC${k + 1}`)], order, line);
}

function biplotPart(data, arrays) {
  const shown = Math.min(data.components.shown, data.components.standingOut ?? Infinity),
    holder = make('div');
  const options = chosen_ =>
    Array.from({ length: shown }, (_, k) => make('option', { value: k, selected: k === chosen_ }, `PC${k + 1}`));
  const across = make('select', { 'aria-label': 'Component to the right' }, options(0)),
    up = make('select', { 'aria-label': 'Component upwards' }, options(1));
  const paint = () => holder.replaceChildren(biplot(data, arrays, Number(across.value), Number(up.value)));
  for (const one of [across, up]) one.addEventListener('change', paint);
  paint();
  return make(
    'div',
    {},
    make('h3', {}, 'Map of the features'),
    make('div', { class: 'row controls-only' }, across, 'and', up),
    holder,
    make(
      'p',
      { class: 'note' },
      'Each arrow is a feature: how much it moves along the two components; crosses are ± one standard error. ' +
        'Arrows that point the same way ' +
        'go together. Grey ones cannot be told from noise. There are no people on this map: their rows are private.',
    ),
  );
}

function biplot(data, arrays, across, up) {
  const of = loadingAt(data, arrays),
    d = data.features.length,
    size = 420,
    middle = size / 2;
  const arrows = Array.from({ length: d }, (_, j) => ({ j, x: of(across, j), y: of(up, j) }))
    .map(one => ({ ...one, length: Math.hypot(one.x.value, one.y.value), clear: one.x.clear || one.y.clear }))
    .sort((one, other) => other.clear - one.clear || other.length - one.length)
    .slice(0, MOST_ARROWS)
    .filter(one => one.length > 0);
  const most = Math.max(...arrows.map(one => one.length), 1e-9),
    at = value => (value / most) * (middle - 62);
  const parts = arrows.toReversed().map(({ x, y, clear }) => {
    const px = middle + at(x.value),
      py = middle - at(y.value),
      known = Number.isFinite(x.error) && Number.isFinite(y.error) && clear;
    return [
      drawn('line', { class: clear ? 'reach' : 'drowned-line', x1: middle, y1: middle, x2: px, y2: py }),
      known ? drawn('line', { class: 'error', x1: px - at(x.error), x2: px + at(x.error), y1: py, y2: py }) : null,
      known ? drawn('line', { class: 'error', x1: px, x2: px, y1: py - at(y.error), y2: py + at(y.error) }) : null,
      drawn('circle', { class: clear ? 'value' : 'drowned', cx: px, cy: py, r: 3.2 }),
    ];
  });
  const labels = [];
  for (const { j, x, y, clear, length } of arrows.slice(0, MOST_LABELS)) {
    // those of larger arrows first: one that would cover another is left out
    const far = 1 + 12 / Math.max(at(length), 1),
      px = middle + at(x.value) * far,
      py = middle - at(y.value) * far,
      right = px >= middle;
    const text = shortened(data.features[j], 18),
      wide = text.length * 7,
      from = right ? px : px - wide;
    const shifted = Math.min(Math.max(from, 2), size - wide - 2);
    if (labels.some(one => Math.abs(one.py - py) < 13 && shifted < one.to && one.from < shifted + wide)) continue;
    labels.push({
      py,
      from: shifted,
      to: shifted + wide,
      node: drawn('text', { class: clear ? null : 'noise', x: shifted, y: py + 4 }, text),
    });
  }
  const label = `Map of ${arrows.length} features on components ${across + 1} and ${up + 1}; the table below has the numbers.`;
  return drawn(
    'svg',
    { class: 'biplot', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label },
    drawn('line', { class: 'gridline', x1: 8, x2: size - 8, y1: middle, y2: middle }),
    drawn('line', { class: 'gridline', x1: middle, x2: middle, y1: 8, y2: size - 8 }),
    drawn('text', { class: 'soft', x: size - 8, y: middle + 15, 'text-anchor': 'end' }, `PC${across + 1}`),
    drawn('text', { class: 'soft', x: middle + 6, y: 16 }, `PC${up + 1}`),
    parts,
    labels.map(one => one.node),
  );
}
