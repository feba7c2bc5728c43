// Correlations as a heat map that fades towards noise: under the pointer and by keyboard, one pair at a time.

const CLEAR = 3,
  FULL = 10,
  FAINT = 0.3; // standard errors, and the part of a colour: as in the pictures of the command line
const MOST_LABELLED = 45,
  MOST_WRITTEN = 8;

function showCorrelations(data, correlations, order, onModel) {
  const facts = data.correlation,
    d = data.features.length;
  const part = section(
    'correlations',
    facts.name === 'correlation' ? 'Correlations' : 'Cosines about 0',
    `How strongly two columns go together, from −1 to 1. ${COMMON.format(facts.clear)} of ${counted(facts.pairs, 'pair')} ` +
      `of different columns ${facts.clear === 1 ? 'is' : 'are'} clear of noise; grey cells cannot be told from it. ` +
      `± is one standard error ${facts.about}.`,
  );
  if (d === 1) return;
  const strongest = strongestPairs(data, correlations),
    paired = new Set(strongest.flatMap(([i, j]) => [i, j]));
  const places = { 'similar columns together': order, 'in the order of the table': Array.from({ length: d }, (_, i) => i) };
  const some = order.filter(j => paired.has(j)),
    few = 1 < some.length && some.length < d;
  if (few) places[`only the ${some.length} in a clear pair`] = some;
  const state = { order: few && d > MOST_LABELLED ? some : order, at: [0, 1] };
  const canvas = make('canvas'),
    tip = make('div', { class: 'tip' });
  const map = make(
    'div',
    {
      class: 'map',
      tabindex: 0,
      role: 'application',
      'aria-roledescription': 'heat map',
    },
    canvas,
    tip,
  );
  const panel = make('div', { class: 'panel', 'aria-live': 'polite' });
  const choice = make(
    'select',
    {
      onchange: () => {
        state.order = places[choice.value];
        state.at = [0, 1];
        paint();
      },
    },
    Object.keys(places).map(name => make('option', { value: name, selected: places[name] === state.order }, name)),
  );
  const named_ = make('label', { class: 'row controls-only' }, 'Order: ', choice);
  const key = make(
    'div',
    { class: 'key' },
    make('span', {}, '−1 ', make('span', { class: 'ramp' }), ' 1'),
    make('span', {}, 'the paler, the nearer to noise'),
    make('span', {}, make('span', { class: 'swatch' }), ' cannot be told from noise'),
  );
  const list = make('div');
  part.append(
    make(
      'div',
      { class: 'split' },
      make('div', {}, named_, map, key),
      make('div', {}, panel, make('h3', {}, 'Strongest pairs that are clear of noise'), list),
    ),
  );

  let frame = null; // where the cells are, in CSS pixels
  const words = (i, j) =>
    i === j
      ? 'a feature with itself'
      : correlationWords(correlations.value(i, j), correlations.error(i, j), correlations.clear(i, j));
  const ofCell = ([row, column]) => [state.order[row], state.order[column]];
  const open = (i, j) => {
    panel.replaceChildren(...pairDetail(data, correlations, i, j, onModel));
    panel.dataset.pair = `${i},${j}`;
  };

  function paint() {
    const style = getComputedStyle(document.documentElement),
      rgb = name => style.getPropertyValue(name).split(',').map(Number);
    const colours = { warm: rgb('--warm'), cool: rgb('--cool'), middle: rgb('--middle') };
    const ink = style.getPropertyValue('--ink'),
      line = style.getPropertyValue('--grey'),
      drownedRgb = hex(style.getPropertyValue('--drowned').trim());
    const d = state.order.length,
      width = map.clientWidth || 600,
      ratio = Math.max(window.devicePixelRatio || 1, 1);
    const labelled = d <= MOST_LABELLED && width / d >= 9,
      font = Math.min(12, Math.max(8, (width / d) * 0.5));
    const context = canvas.getContext('2d');
    context.font = `${font}px system-ui, sans-serif`;
    const labels = labelsOf(labelled, width);
    const margin = labels.length
      ? Math.min(Math.max(...labels.map(({ text }) => context.measureText(text).width)) + 8, width * 0.34)
      : 0;
    const side = width - margin;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((side + margin) * ratio);
    canvas.style.height = `${side + margin}px`;
    context.scale(ratio, ratio);
    const small = new OffscreenCanvas(d, d),
      pixels = new ImageData(d, d);
    for (let row = 0, at = 0; row < d; row++) {
      for (let column = 0; column < d; column++, at += 4) {
        const colour = cellColour(...ofCell([row, column]), correlations, colours, drownedRgb);
        for (let k = 0; k < 3; k++) pixels.data[at + k] = colour[k];
        pixels.data[at + 3] = 255;
      }
    }
    small.getContext('2d').putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = side * ratio < d;
    context.drawImage(small, margin, 0, side, side);
    frame = { margin, side, size: side / d };
    map.setAttribute(
      'aria-label',
      `Heat map of ${d} by ${d} features. Arrow keys move from cell to cell, Enter opens the pair.`,
    );
    Object.assign(map.dataset, { margin, cell: frame.size });
    if (labels.length) writeLabels(context, labels, frame, font, ink);
    if (d <= MOST_WRITTEN && frame.size > 52) writeNumbers(context, frame, colours, drownedRgb);
    drawBlocks(context, line);
    const [row, column] = state.at;
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.strokeRect(margin + column * frame.size, row * frame.size, frame.size, frame.size);
  }

  /** Names of features where there is room for them; else of columns whose levels have as much room together. */
  function labelsOf(labelled, width) {
    const d = state.order.length,
      most = width < 500 ? 12 : LONGEST;
    if (labelled) return state.order.map((j, place) => ({ text: shortened(data.features[j], most), at: place + 0.5 }));
    if (data.columns.length === data.features.length) return [];
    const found = [];
    for (let from = 0, to = 0; from < d; from = to) {
      const column = data.columnOf[state.order[from]];
      for (to = from; to < d && data.columnOf[state.order[to]] === column; to++);
      if (((to - from) * width * 0.75) / d >= 11)
        found.push({ text: shortened(data.columns[column], most), at: (from + to) / 2 });
    }
    return found;
  }

  function writeNumbers(context, { margin, size }, colours, drownedRgb) {
    const d = state.order.length;
    context.textAlign = 'center';
    for (let row = 0; row < d; row++) {
      for (let column = 0; column < d; column++) {
        const [i, j] = ofCell([row, column]);
        if (i === j || !correlations.clear(i, j)) continue;
        const [number, own] = rounded(correlations.value(i, j), correlations.error(i, j));
        context.fillStyle = luminance(cellColour(i, j, correlations, colours, drownedRgb)) > 0.2 ? '#10161d' : '#ffffff';
        context.font = `${Math.min(13, size / 4.6)}px system-ui, sans-serif`;
        context.fillText(number, margin + (column + 0.5) * size, (row + 0.48) * size);
        context.fillText(`± ${own}`, margin + (column + 0.5) * size, (row + 0.74) * size);
      }
    }
  }

  /** Lines between columns where some have several features. */
  function drawBlocks(context, line) {
    const d = state.order.length;
    if (data.columns.length === data.features.length) return;
    context.strokeStyle = line;
    context.lineWidth = 0.5;
    for (let place = 1; place < d; place++) {
      if (data.columnOf[state.order[place]] === data.columnOf[state.order[place - 1]]) continue;
      const at = place * frame.size;
      context.beginPath();
      context.moveTo(frame.margin + at, 0);
      context.lineTo(frame.margin + at, frame.side);
      context.moveTo(frame.margin, at);
      context.lineTo(frame.margin + frame.side, at);
      context.stroke();
    }
  }

  const under = event => {
    const box = canvas.getBoundingClientRect(),
      x = event.clientX - box.left - frame.margin,
      y = event.clientY - box.top;
    const column = Math.floor(x / frame.size),
      row = Math.floor(y / frame.size),
      d = state.order.length;
    return row >= 0 && column >= 0 && row < d && column < d ? [row, column] : null;
  };
  const hint = (at, box = null) => {
    const [i, j] = ofCell(at);
    tip.replaceChildren(named(data.features[i]), named(data.features[j]), words(i, j));
    tip.dataset.pair = `${i},${j}`;
    tip.style.display = 'block';
    const x = frame.margin + (at[1] + 0.5) * frame.size,
      y = (at[0] + 1) * frame.size + 6;
    tip.style.left = `${Math.max(0, Math.min(x, map.clientWidth - tip.offsetWidth - 4))}px`;
    const above = Math.max(at[0] * frame.size - tip.offsetHeight - 6, 0);
    tip.style.top = `${y + tip.offsetHeight > canvas.clientHeight ? above : y}px`;
  };
  map.addEventListener('pointermove', event => {
    const at = under(event);
    if (at === null) tip.style.display = 'none';
    else hint(at);
  });
  map.addEventListener('pointerleave', () => {
    tip.style.display = 'none';
  });
  map.addEventListener('click', event => {
    const at = under(event);
    if (at === null) return;
    state.at = at;
    paint();
    open(...ofCell(at));
  });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  map.addEventListener('keydown', event => {
    const step = steps[event.key],
      d = state.order.length,
      inside = place => Math.min(Math.max(place, 0), d - 1);
    if (event.key === 'Escape') tip.style.display = 'none';
    else if (event.key === 'Enter' || event.key === ' ') open(...ofCell(state.at));
    else if (event.key === 'Home') state.at = [state.at[0], 0];
    else if (event.key === 'End') state.at = [state.at[0], d - 1];
    else if (step) state.at = [inside(state.at[0] + step[0]), inside(state.at[1] + step[1])];
    else return;
    event.preventDefault();
    paint();
    if (event.key === 'Escape') return;
    hint(state.at);
    const [i, j] = ofCell(state.at);
    say(`${shortened(data.features[i])}, ${shortened(data.features[j])}: ${words(i, j)}`);
  });
  map.addEventListener('blur', () => {
    tip.style.display = 'none';
  });
  new ResizeObserver(() => paint()).observe(map);
  document.addEventListener('themechange', paint);
  pairList(data, correlations, strongest, list, (i, j) => {
    state.at = [state.order.indexOf(i), state.order.indexOf(j)];
    paint();
    open(i, j);
  });
  if (strongest.length) {
    const [i, j] = strongest[0];
    state.at = [state.order.indexOf(i), state.order.indexOf(j)];
    open(i, j);
  } else open(...ofCell([0, 1]));
  paint();
}

const hex = text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));

/** How light a colour is, 0 to 1, as contrast is measured. */
function luminance(rgb) {
  const [red, green, blue] = rgb.map(part => (part / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** How much of its colour a number has: all from ten standard errors on, less the nearer to noise. */
function opacity(value, error) {
  const part = Math.min(Math.max((Math.abs(value) / error - CLEAR) / (FULL - CLEAR), 0), 1);
  return Number.isNaN(part) ? 1 : FAINT + (1 - FAINT) * part;
}

function cellColour(i, j, correlations, { warm, cool, middle }, drownedRgb) {
  const value = i === j ? 1 : correlations.value(i, j),
    error = correlations.error(i, j);
  if (!correlations.clear(i, j) && !Number.isNaN(error)) return drownedRgb;
  const end = value > 0 ? warm : cool,
    far = Math.min(Math.abs(value), 1),
    own = i === j ? 1 : opacity(value, error);
  return middle.map((from, k) => drownedRgb[k] + (from + (end[k] - from) * far - drownedRgb[k]) * own);
}

function writeLabels(context, labels, { margin, side, size }, font, ink) {
  context.fillStyle = ink;
  context.font = `${font}px system-ui, sans-serif`;
  context.textBaseline = 'middle';
  labels.forEach(({ text: label, at: place }) => {
    const at = place * size;
    context.textAlign = 'right';
    context.fillText(label, margin - 5, at, margin - 6);
    context.save();
    context.translate(margin + at, side + 5);
    context.rotate(-Math.PI / 2);
    context.fillText(label, 0, 0, margin - 6);
    context.restore();
  });
  context.textBaseline = 'alphabetic';
}
