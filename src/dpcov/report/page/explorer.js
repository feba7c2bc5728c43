// Regressions: any target from any columns with any penalty, solved here as Release.ridge solves them.

const SLOW = 160; // coordinates from which on a solution takes long enough to be announced
const FEW = 12; // features at first: of the columns that go with the target most

function showExplorer(data, arrays, correlations) {
  const facts = data.regression, d = data.features.length, columns = data.columns;
  const part = section('regressions', 'Regressions', 'Predict any column from any others: each model is solved in this page from the release alone, and costs no privacy.');
  let held = null;
  const state = { target: null, ticked: new Set(), mode: 'auto', power: null, all: false };
  const widths = columns.map((_, c) => data.columnOf.filter(own => own === c).length);
  const targets = make('select', { id: 'target', onchange: () => choose(Number(targets.value)) },
    data.features.map((name, j) => make('option', { value: j }, shortened(name, 60))));
  const find = make('input', { type: 'search', id: 'find', placeholder: 'Find a column…', 'aria-label': 'Show only columns whose name contains' });
  const ticks = make('div', { class: 'ticks' });
  const boxes = columns.map((name, c) => {
    const box = make('input', { type: 'checkbox', 'data-column': c, onchange: () => { if (box.checked) state.ticked.add(c); else state.ticked.delete(c); solve(); } });
    return { box, line: make('label', { class: 'choice' }, box, named(name)) };
  });
  ticks.append(...boxes.map(one => one.line));
  find.addEventListener('input', () => {
    const wanted = find.value.trim().toLowerCase();
    boxes.forEach(({ line }, c) => { line.hidden = !columns[c].toLowerCase().includes(wanted); });
  });
  const tickAll = on => {
    state.ticked = new Set(on ? usual(state.target) : []);
    showTicks();
    solve();
  };
  const radio = (mode, label, disabled = false) => make('label', { class: 'choice' },
    make('input', { type: 'radio', name: 'penalty', value: mode, checked: mode === state.mode, disabled, onchange: () => { state.mode = mode; solve(); } }), label);
  const slider = make('input', {
    type: 'range', id: 'penalty', min: -6, max: 3, step: 0.05, value: -1, 'aria-label': 'Penalty, as a power of ten of the average variance',
    oninput: () => { state.mode = 'hand'; state.power = Number(slider.value); mark(); solve(); },
  });
  const amount = make('output', { for: 'penalty', id: 'alpha' });
  const mark = () => { for (const one of part.querySelectorAll('input[name=penalty]')) one.checked = one.value === state.mode; };
  const result = make('div', { id: 'model' });
  const everyOne = make('label', { class: 'choice controls-only' }, make('input', { type: 'checkbox', id: 'all', onchange: event => { state.all = event.target.checked; solve(); } }),
    'Show coefficients that may be noise, too, in grey');
  const canAuto = facts.tellsNoise;
  if (!canAuto) { state.mode = 'hand'; state.power = -1; }
  const controls = make('div', { class: 'controls-only' },
    make('label', { class: 'field' }, make('span', {}, 'Predict'), targets),
    make('fieldset', {}, make('legend', {}, 'from'), columns.length > 12 ? make('div', { class: 'row' }, find) : null, ticks,
      make('div', { class: 'row' }, button('Clear of noise', () => choose(state.target)), button('All', () => tickAll(true)), button('None', () => tickAll(false)))),
    make('fieldset', {}, make('legend', {}, 'Penalty'),
      radio('auto', canAuto ? 'automatic, from the noise' : 'automatic: this release does not tell its noise', !canAuto),
      radio('none', 'none: least squares'), radio('hand', 'by hand:'), slider, make('p', { class: 'note' }, 'alpha = ', amount)),
    everyOne);
  part.append(make('div', { class: 'split controls' }, controls, result));

  const apart = c => new Set([c, ...(facts.apart[c] ?? [])]);
  function usual(target) {
    const own = apart(data.columnOf[target]);
    return columns.map((_, c) => c).filter(c => !own.has(c));
  }
  /** The columns that go with the target most, of those that are clear of noise; all where none is. */
  function strongest(target) {
    const size = new Map(usual(target).map(c => [c, 0]));
    data.columnOf.forEach((c, j) => {
      if (size.has(c) && correlations.clear(target, j)) size.set(c, Math.max(size.get(c), Math.abs(correlations.value(target, j))));
    });
    const every = [...size.keys()], sorted = every.filter(c => size.get(c) > 0).sort((a, b) => size.get(b) - size.get(a));
    let left = FEW;
    const found = sorted.filter(c => {
      const fits = widths[c] <= left;
      if (fits) left -= widths[c];
      return fits;
    });
    return found.length ? found : every.slice(0, d > SLOW ? FEW : d);
  }
  /** The number that goes with most others, clear of noise; the last one where none does. */
  function first() {
    const isLevel = data.means?.isLevel ?? [], partners = data.features.map((_, i) =>
      (isLevel[i] ? -1 : data.features.filter((_, j) => data.columnOf[i] !== data.columnOf[j] && correlations.clear(i, j)).length));
    return partners.lastIndexOf(Math.max(...partners));
  }
  function showTicks() {
    const own = data.columnOf[state.target];
    boxes.forEach(({ box }, c) => { box.checked = state.ticked.has(c); box.disabled = c === own; });
  }
  function choose(target, ticked = null) {
    state.target = target;
    targets.value = target;
    state.ticked = new Set(ticked ?? strongest(target));
    state.ticked.delete(data.columnOf[target]);
    const first = [...state.ticked].sort((a, b) => a - b), others = columns.map((_, c) => c).filter(c => !state.ticked.has(c));
    ticks.append(...[...first, ...others].map(c => boxes[c].line)); // a long list begins with those that count
    showTicks();
    solve();
  }

  let waiting = 0;
  function solve() {
    const turn = ++waiting;
    if (state.ticked.size === 0) { result.replaceChildren(make('p', { class: 'panel' }, 'Tick a column or more to predict from.')); return; }
    const slow = held === null && d > SLOW || state.ticked.size > SLOW || state.mode === 'auto' && state.ticked.size > SLOW;
    if (!slow) { show(); return; }
    result.setAttribute('aria-busy', 'true');
    result.replaceChildren(make('p', { class: 'panel' }, 'Solving: a few seconds for so many columns …'));
    setTimeout(() => { if (turn === waiting) show(); }, 60);
  }

  function show() {
    held ??= regressionData(data, arrays);
    const place = state.target, places = data.features.map((_, j) => j).filter(j => state.ticked.has(data.columnOf[j]));
    const { predictors } = normalEquations(systemOf(held, place, places).covariance, systemOf(held, place, places).m);
    const m = Math.sqrt(predictors.length), average = Array.from({ length: m }, (_, i) => predictors[i * m + i]).reduce((a, b) => a + b, 0) / m;
    const byHand = Number(((average > 0 ? average : 1) * 10 ** (state.power ?? -1)).toPrecision(3));
    const alpha = { auto: 'auto', none: 0, hand: byHand }[state.mode];
    const fit = ridge(held, place, places, alpha), quality = explained(held, fit);
    const intervals = facts.silent === null ? populationIntervals(held, place, places, fit.references) : null;
    amount.textContent = fit.alpha > 1e6 * average ? 'so large that nothing is left' : plain(Number(fit.alpha.toPrecision(3)));
    if (state.mode !== 'hand' && fit.alpha > 0) slider.value = Math.log10(fit.alpha / (average || 1));
    slider.setAttribute('aria-valuetext', `alpha ${amount.textContent}`);
    const model = { place, places, alpha, fit, quality, intervals, reading: readingOf(data, held, arrays, facts, place, fit, quality, intervals) };
    result.removeAttribute('aria-busy');
    result.dataset.alpha = fit.alpha;
    result.dataset.share = quality.share;
    result.dataset.error = quality.error;
    result.dataset.intercept = fit.intercept;
    result.replaceChildren(...modelParts(data, facts, model, state, usual(place)));
  }
  choose(first());
  return (target, feature) => {
    choose(target, [data.columnOf[feature]]);
    part.focus({ preventScroll: true });
    part.scrollIntoView();
  };
}

/** What can be said of a model: which coefficients are clear of noise, and whether anything can be seen at all. */
function readingOf(data, held, arrays, facts, place, fit, { share, error }, intervals) {
  const reported = fit.reported, scale = j => held.comparable[j], effects = reported.map((j, i) => fit.coefficients[i] * scale(j));
  const most = Math.max(...effects.map(Math.abs), 0), { nothing, drowned, tooWide } = facts.limits;
  const own = intervals?.slice(0, reported.length) ?? null;
  const useful = own !== null && own.some((one, i) => (one.upper - one.lower) / 2 * scale(reported[i]) <= tooWide * most) ? own : null;
  const limit = held.limits[reported.length - 1], clear = useful?.map(one => Math.abs(one.estimate) > limit * one.error) ?? null;
  const isConstant = !(most > drowned * scale(place)), knowsTarget = data.means?.deviation?.clear[place] ?? false;
  const explains = Number.isNaN(share) || (knowsTarget && share >= Math.max(nothing, 3 * error));
  return { useful, clear, effects, knowsTarget, nothing: !explains && (isConstant || clear === null || !clear.some(Boolean)) };
}

function modelParts(data, facts, model, state, usual) {
  const { fit, quality, reading, place } = model, anyClear = reading.clear?.some(Boolean) ?? false, target = data.features[place];
  const readable = facts.silent !== null || (!reading.nothing && anyClear);
  const [share, error] = rounded(100 * quality.share, 100 * quality.error);
  const of = make('p', {}, 'of the ', data.isCentred ? 'variance' : 'second moment', ' of ', named(target), ' is explained (R²), by the release alone.');
  const head = reading.nothing ? [make('p', { class: 'big noise' }, 'Nothing can be seen'), make('p', {}, 'The noise of the release is too large to tell how ', named(target), ' depends on these.')]
    : Number.isNaN(quality.share) ? [make('p', { class: 'big' }, 'R² not known'), make('p', {}, 'The release does not tell how large its noise is.')]
      : !reading.knowsTarget ? [make('p', { class: 'big noise' }, NOISE), make('p', {}, 'Noise drowns the variance of ', named(target), ' itself.')]
        : [make('p', { class: 'big' }, `${share} ± ${error} %`), of];
  const shown = readable || state.all ? coefficientTable(data, facts, model, state) : make('p', { class: 'note' },
    reading.nothing ? 'So no coefficient is listed.' : 'No single coefficient is clear of noise, so none is listed: only together they tell.');
  return [make('div', { class: 'panel', role: 'status' }, head), shown, notes(modelNotes(data, facts, model)) ?? '', copyPart(data, model, usual)];
}

function coefficientTable(data, facts, { fit, intervals, reading }, state) {
  const inside = intervals?.slice(0, fit.reported.length) ?? null, held = j => fit.system.held.comparable[j];
  const listed = fit.reported.map((_, i) => i).filter(i => state.all || reading.clear === null || reading.clear[i]);
  listed.sort((a, b) => (reading.clear?.[b] ?? 0) - (reading.clear?.[a] ?? 0) || Math.abs(reading.effects[b]) - Math.abs(reading.effects[a]));
  const isOff = i => reading.clear !== null ? !reading.clear[i] : facts.silent === null;
  const ends = listed.flatMap(i => [reading.effects[i], ...(inside !== null && !isOff(i) ? [inside[i].lower * held(fit.reported[i]), inside[i].upper * held(fit.reported[i])] : [])]);
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends);
  const line = i => {
    const one = inside?.[i], off = isOff(i), scale = held(fit.reported[i]), value = fit.coefficients[i];
    const [number] = rounded(value, one?.error ?? NaN);
    const picture = reach(low, high, {
      middle: (one?.estimate ?? value) * scale, from: (one?.lower ?? NaN) * scale, to: (one?.upper ?? NaN) * scale, clear: !off, zero: 0,
      other: fit.alpha > 0 ? value * scale : null,
    }, 170);
    return make('tr', { 'data-feature': fit.reported[i], 'data-value': value, 'data-lower': one?.lower, 'data-upper': one?.upper, 'data-error': one?.error },
      make('th', { scope: 'row' }, named(data.features[fit.reported[i]])),
      make('td', { class: off ? 'number noise' : 'number' }, off ? `${NOISE}${state.all ? ` (${plain(value)})` : ''}` : number),
      make('td', { class: off ? 'number noise' : 'number' }, one ? `± ${rounded(one.error, one.error)[1]}` : '± ?'),
      make('td', { class: off ? 'number noise' : 'number' }, one ? span(one.lower, one.upper) : '?'), cell(picture, { class: 'wide' }));
  };
  const heading = fit.alpha > 0 && inside !== null ? 'least squares, 95 %' : '95 % interval';
  return longTable('Coefficients', ['feature', '#coefficient', '#±', `#${heading}`, make('th', { scope: 'col', class: 'wide' }, `effect, ${facts.per}`)], listed, line);
}

function modelNotes(data, facts, { fit, intervals, reading, places }) {
  const hidden = reading.clear === null ? 0 : reading.clear.filter(one => !one).length;
  const used = [...new Set(places.map(j => data.columns[data.columnOf[j]]))];
  const found = [`From ${used.slice(0, FEW).map(name => shortened(name, 40)).join(', ')}${used.length > FEW ? ` and ${used.length - FEW} more` : ''}; alpha ${plain(fit.alpha)}.`];
  if (fit.references.length) found.push(`Levels are compared with ${fit.references.map(j => shortened(data.features[j], 40)).join(', ')}.`);
  if (hidden && !reading.nothing) found.push(`${counted(hidden, 'coefficient')} cannot be told from noise.`);
  if (facts.silent !== null) found.push(`No intervals: ${facts.silent}.`);
  else if (intervals === null) found.push('No intervals: all these together are not clear of noise. Fewer columns may be.');
  else {
    found.push('Intervals: about the population, over the privacy noise and the draw of rows, by a closed form. What clipping took from the rows is left out of them: release.ridge(…).interval() has what can be known of it.');
    if (fit.alpha > 0) found.push('Lines are least squares; diamonds and coefficients are those of this model, which the penalty draws towards 0: for predictions, not for reading one by one.');
  }
  if (facts.units === null && !facts.centred) found.push('No intercept: rows were not centred.');
  return found;
}

function pythonOf(data, { place, alpha }, state, usual) {
  const ticked = [...state.ticked].sort((a, b) => a - b), asUsual = ticked.length === usual.length && ticked.every((c, i) => c === usual[i]);
  const features = asUsual ? '' : `, features=[${ticked.map(c => inPython(data.columns[c])).join(', ')}]`;
  const penalty = alpha === 'auto' ? '' : `, alpha=${alpha}`;
  return `import dpcov\n\nrelease = dpcov.load("release.json")\nmodel = release.ridge(${inPython(data.features[place])}${features}${penalty})\nprint(model.summary())\n`;
}

function copyPart(data, model, usual) {
  const { fit, intervals, place } = model;
  const code = make('pre', { tabindex: 0, id: 'python' });
  code.textContent = pythonOf(data, model, { ticked: new Set(model.places.map(j => data.columnOf[j])) }, usual);
  const rows = () => fit.reported.map((j, i) => [data.features[j], fit.coefficients[i], intervals?.[i].estimate ?? NaN, intervals?.[i].error ?? NaN,
    intervals?.[i].lower ?? NaN, intervals?.[i].upper ?? NaN, model.reading.clear?.[i] ? 'true' : 'false']);
  const save = () => download('model.csv', 'text/csv', csv([
    ['feature', `coefficient for ${data.features[place]}, alpha ${fit.alpha}`, 'least squares', 'standard error', 'lower', 'upper', 'clear of noise'], ...rows()]));
  return make('details', { class: 'controls-only' }, make('summary', {}, 'This model in Python'), code,
    make('div', { class: 'row' }, button('Copy', () => copy(code.textContent)), button('Save the table (CSV)', save)));
}

/** The one model of a release that holds only its coefficients. */
function showModel(data) {
  const { model } = data, part = section('model', 'The model', null);
  part.append(make('p', { class: 'lead' }, 'Coefficients for ', named(model.target), ` with alpha ${plain(model.alpha)}: they were released themselves, and their noise is their only error.`));
  const inside = model.interval, low = Math.min(0, ...(inside?.lower ?? model.coefficients)), high = Math.max(0, ...(inside?.upper ?? model.coefficients));
  const line = i => {
    const clear = model.clear_of_noise === null ? true : model.clear_of_noise[i], error = inside?.standard_error[i] ?? NaN;
    return make('tr', {}, make('th', { scope: 'row' }, named(model.features[i])),
      numberCell(clear ? rounded(model.coefficients[i], error)[0] : NOISE, { 'data-value': clear ? model.coefficients[i] : null }),
      numberCell(`± ${rounded(error, error)[1]}`, {}, !clear), numberCell(inside ? span(inside.lower[i], inside.upper[i]) : '?', {}, !clear),
      cell(reach(low, high, { middle: model.coefficients[i], from: inside?.lower[i] ?? NaN, to: inside?.upper[i] ?? NaN, clear, zero: 0 }, 170), { class: 'wide' }));
  };
  part.append(longTable('Coefficients', ['feature', '#coefficient', '#±', '#95 % interval', make('th', { scope: 'col', class: 'wide' }, 'effect')],
    [...model.features.keys()], line), notes(model.notes) ?? '');
}
