// A model as people read it: what it explains, its coefficients, what they are worth, and the same in Python.

const MOST_NAMED = 12; // columns that a model is from

/** What can be said of a model: which coefficients are clear of noise, and whether anything can be seen at all. */
function readingOf(data, held, arrays, facts, place, fit, { share, error }, intervals) {
  const reported = fit.reported,
    scale = j => held.comparable[j],
    effects = reported.map((j, i) => fit.coefficients[i] * scale(j));
  const most = Math.max(...effects.map(Math.abs), 0),
    { nothing, drowned, tooWide } = facts.limits;
  const own = intervals?.slice(0, reported.length) ?? null;
  const useful =
    own !== null && own.some((one, i) => ((one.upper - one.lower) / 2) * scale(reported[i]) <= tooWide * most) ? own : null;
  const limit = held.limits[reported.length - 1],
    clear = useful?.map(one => Math.abs(one.estimate) > limit * one.error) ?? null;
  const isConstant = !(most > drowned * scale(place)),
    knowsTarget = data.means?.deviation?.clear[place] ?? false;
  const explains = Number.isNaN(share) || (knowsTarget && share >= Math.max(nothing, 3 * error));
  return { useful, clear, effects, knowsTarget, nothing: !explains && (isConstant || clear === null || !clear.some(Boolean)) };
}

function modelParts(data, facts, model, state, usual) {
  const { fit, quality, reading, place } = model,
    anyClear = reading.clear?.some(Boolean) ?? false,
    target = data.features[place];
  const readable = facts.silent !== null || (!reading.nothing && anyClear);
  const [share, error] = rounded(100 * quality.share, 100 * quality.error);
  const of = make(
    'p',
    {},
    'of the ',
    data.isCentred ? 'variance' : 'second moment',
    ' of ',
    named(target),
    ' is explained (R²), by the release alone.',
  );
  const head = reading.nothing
    ? [
        make('p', { class: 'big noise' }, 'Nothing can be seen'),
        make('p', {}, 'The noise of the release is too large to tell how ', named(target), ' depends on these.'),
      ]
    : Number.isNaN(quality.share)
      ? [make('p', { class: 'big' }, 'R² not known'), make('p', {}, 'The release does not tell how large its noise is.')]
      : !reading.knowsTarget
        ? [make('p', { class: 'big noise' }, NOISE), make('p', {}, 'Noise drowns the variance of ', named(target), ' itself.')]
        : [make('p', { class: 'big' }, `${share} ± ${error} %`), of];
  const shown =
    readable || state.all
      ? coefficientTable(data, facts, model, state)
      : make(
          'p',
          { class: 'note' },
          reading.nothing
            ? 'So no coefficient is listed.'
            : 'No single coefficient is clear of noise, so none is listed: only together they tell.',
        );
  return [
    make('div', { class: 'panel', role: 'status' }, head),
    shown,
    notes(modelNotes(data, facts, model)) ?? '',
    copyPart(data, model, usual),
  ];
}

function coefficientTable(data, facts, { fit, intervals, reading }, state) {
  const inside = intervals?.slice(0, fit.reported.length) ?? null,
    held = j => fit.system.held.comparable[j],
    penalised = fit.alpha > 0 && inside !== null; // then ± and intervals are those of least squares, which has a column
  const listed = fit.reported.map((_, i) => i).filter(i => state.all || reading.clear === null || reading.clear[i]);
  listed.sort(
    (a, b) =>
      (reading.clear?.[b] ?? 0) - (reading.clear?.[a] ?? 0) || Math.abs(reading.effects[b]) - Math.abs(reading.effects[a]),
  );
  const isOff = i => (reading.clear !== null ? !reading.clear[i] : facts.silent === null);
  const ends = listed.flatMap(i => [
    reading.effects[i],
    ...(inside !== null && !isOff(i) ? [inside[i].lower * held(fit.reported[i]), inside[i].upper * held(fit.reported[i])] : []),
  ]);
  const low = Math.min(0, ...ends),
    high = Math.max(0, ...ends);
  const line = i => {
    const one = inside?.[i],
      off = isOff(i),
      scale = held(fit.reported[i]),
      value = fit.coefficients[i];
    const [number] = rounded(value, one?.error ?? NaN);
    const picture = reach(
      low,
      high,
      {
        middle: (one?.estimate ?? value) * scale,
        from: (one?.lower ?? NaN) * scale,
        to: (one?.upper ?? NaN) * scale,
        clear: !off,
        zero: 0,
        other: fit.alpha > 0 ? value * scale : null,
      },
      170,
    );
    return make(
      'tr',
      {
        'data-feature': fit.reported[i],
        'data-value': value,
        'data-lower': one?.lower,
        'data-upper': one?.upper,
        'data-error': one?.error,
      },
      make('th', { scope: 'row' }, named(data.features[fit.reported[i]])),
      make('td', { class: off ? 'number noise' : 'number' }, off ? `${NOISE}${state.all ? ` (${plain(value)})` : ''}` : number),
      penalised ? numberCell(off ? NOISE : rounded(one.estimate, one.error)[0]) : null,
      numberCell(one ? `± ${rounded(one.error, one.error)[1]}` : '± ?', {}, off),
      numberCell(one ? span(one.lower, one.upper) : '?', {}, off),
      cell(picture, { class: 'wide' }),
    );
  };
  const headings = ['feature', '#coefficient', ...(penalised ? ['#least squares'] : []), '#±', '#95 % interval'];
  return longTable(
    'Coefficients',
    [...headings, make('th', { scope: 'col', class: 'wide' }, `effect, ${facts.per}`)],
    listed,
    line,
  );
}

function modelNotes(data, facts, { fit, intervals, reading, places }) {
  const hidden = reading.clear === null ? 0 : reading.clear.filter(one => !one).length;
  const used = [...new Set(places.map(j => data.columns[data.columnOf[j]]))];
  const found = [
    `From ${used
      .slice(0, MOST_NAMED)
      .map(name => shortened(name, 40))
      .join(', ')}${used.length > MOST_NAMED ? ` and ${used.length - MOST_NAMED} more` : ''}; alpha ${plain(fit.alpha)}.`,
  ];
  if (fit.references.length)
    found.push(`Levels are compared with ${fit.references.map(j => shortened(data.features[j], 40)).join(', ')}.`);
  if (hidden && !reading.nothing) found.push(`${counted(hidden, 'coefficient')} cannot be told from noise.`);
  if (facts.silent !== null) found.push(`No intervals: ${facts.silent}.`);
  else if (intervals === null) found.push('No intervals: all these together are not clear of noise. Fewer columns may be.');
  else {
    found.push(
      'Intervals: about the population, over the privacy noise and the draw of rows, by a closed form. What clipping took ' +
        'from the rows is left out of them: release.ridge(…).interval() has what can be known of it.',
    );
    if (fit.alpha > 0)
      found.push(
        'Intervals and lines are those of least squares; diamonds and coefficients are of this model, which the penalty ' +
          'draws towards 0: for predictions, not for reading one by one.',
      );
  }
  if (facts.units === null && !facts.centred) found.push('No intercept: rows were not centred.');
  return found;
}

function pythonOf(data, { place, alpha }, state, usual) {
  const ticked = [...state.ticked].sort((a, b) => a - b),
    asUsual = ticked.length === usual.length && ticked.every((c, i) => c === usual[i]);
  const features = asUsual ? '' : `, features=[${ticked.map(c => inPython(data.columns[c])).join(', ')}]`;
  const penalty = alpha === 'auto' ? '' : `, alpha=${alpha}`;
  const call = `release.ridge(${inPython(data.features[place])}${features}${penalty})`;
  return `import dpcov\n\nrelease = dpcov.load("release.json")\nmodel = ${call}\nprint(model.summary())\n`;
}

function copyPart(data, model, usual) {
  const { fit, intervals, place } = model;
  const code = make('pre', { tabindex: 0, id: 'python' });
  code.textContent = pythonOf(data, model, { ticked: new Set(model.places.map(j => data.columnOf[j])) }, usual);
  const rows = () =>
    fit.reported.map((j, i) => [
      data.features[j],
      fit.coefficients[i],
      intervals?.[i].estimate ?? NaN,
      intervals?.[i].error ?? NaN,
      intervals?.[i].lower ?? NaN,
      intervals?.[i].upper ?? NaN,
      model.reading.clear?.[i] ? 'true' : 'false',
    ]);
  const save = () =>
    download(
      'model.csv',
      'text/csv',
      csv([
        [
          'feature',
          `coefficient for ${data.features[place]}, alpha ${fit.alpha}`,
          'least squares',
          'standard error',
          'lower',
          'upper',
          'clear of noise',
        ],
        ...rows(),
      ]),
    );
  return make(
    'details',
    { class: 'controls-only' },
    make('summary', {}, 'This model in Python'),
    code,
    make(
      'div',
      { class: 'row' },
      button('Copy', () => copy(code.textContent)),
      button('Save the table (CSV)', save),
    ),
  );
}

/** The one model of a release that holds only its coefficients. */
function showModel(data) {
  const { model } = data,
    part = section('model', 'The model', null);
  part.append(
    make(
      'p',
      { class: 'lead' },
      'Coefficients for ',
      named(model.target),
      ` with alpha ${plain(model.alpha)}: they were released themselves, and their noise is their only error.`,
    ),
  );
  const inside = model.interval,
    low = Math.min(0, ...(inside?.lower ?? model.coefficients)),
    high = Math.max(0, ...(inside?.upper ?? model.coefficients));
  const line = i => {
    const clear = model.clear_of_noise === null ? true : model.clear_of_noise[i],
      error = inside?.standard_error[i] ?? NaN;
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, named(model.features[i])),
      numberCell(clear ? rounded(model.coefficients[i], error)[0] : NOISE, {
        'data-value': clear ? model.coefficients[i] : null,
      }),
      numberCell(`± ${rounded(error, error)[1]}`, {}, !clear),
      numberCell(inside ? span(inside.lower[i], inside.upper[i]) : '?', {}, !clear),
      cell(
        reach(
          low,
          high,
          { middle: model.coefficients[i], from: inside?.lower[i] ?? NaN, to: inside?.upper[i] ?? NaN, clear, zero: 0 },
          170,
        ),
        { class: 'wide' },
      ),
    );
  };
  part.append(
    longTable(
      'Coefficients',
      ['feature', '#coefficient', '#±', '#95 % interval', make('th', { scope: 'col', class: 'wide' }, 'effect')],
      [...model.features.keys()],
      line,
    ),
    notes(model.notes) ?? '',
  );
}
