// Regressions: any target from any columns with any penalty, solved here as Release.ridge solves them.

const SLOW = 160; // coordinates from which on a solution takes long enough to be announced
const FEW = 12; // features at first: of the columns that go with the target most

function showExplorer(data, arrays, correlations) {
  const facts = data.regression,
    d = data.features.length,
    columns = data.columns;
  const part = section(
    'regressions',
    'Regressions',
    'Predict any column from any others: each model is solved in this page from the release alone, and costs no privacy.',
  );
  let held = null;
  const state = { target: null, ticked: new Set(), mode: 'auto', power: null, all: false };
  const widths = columns.map((_, c) => data.columnOf.filter(own => own === c).length);
  const targets = make(
    'select',
    { id: 'target', onchange: () => choose(Number(targets.value)) },
    data.features.map((name, j) => make('option', { value: j }, shortened(name, 60))),
  );
  const find = make('input', {
    type: 'search',
    id: 'find',
    placeholder: 'Find a column…',
    'aria-label': 'Show only columns whose name contains',
  });
  const ticks = make('div', { class: 'ticks' });
  const boxes = columns.map((name, c) => {
    const box = make('input', {
      type: 'checkbox',
      'data-column': c,
      onchange: () => {
        if (box.checked) state.ticked.add(c);
        else state.ticked.delete(c);
        solve();
      },
    });
    return { box, line: make('label', { class: 'choice' }, box, named(name)) };
  });
  ticks.append(...boxes.map(one => one.line));
  find.addEventListener('input', () => {
    const wanted = find.value.trim().toLowerCase();
    boxes.forEach(({ line }, c) => {
      line.hidden = !columns[c].toLowerCase().includes(wanted);
    });
  });
  const tickAll = on => {
    state.ticked = new Set(on ? usual(state.target) : []);
    showTicks();
    solve();
  };
  const radio = (mode, label, disabled = false) =>
    make(
      'label',
      { class: 'choice' },
      make('input', {
        type: 'radio',
        name: 'penalty',
        value: mode,
        checked: mode === state.mode,
        disabled,
        onchange: () => {
          state.mode = mode;
          solve();
        },
      }),
      label,
    );
  const slider = make('input', {
    type: 'range',
    id: 'penalty',
    min: -6,
    max: 3,
    step: 0.05,
    value: -1,
    'aria-label': 'Penalty, as a power of ten of the average variance',
    oninput: () => {
      state.mode = 'hand';
      state.power = Number(slider.value);
      mark();
      solve();
    },
  });
  const amount = make('output', { for: 'penalty', id: 'alpha' });
  const mark = () => {
    for (const one of part.querySelectorAll('input[name=penalty]')) one.checked = one.value === state.mode;
  };
  const result = make('div', { id: 'model' });
  const everyOne = make(
    'label',
    { class: 'choice controls-only' },
    make('input', {
      type: 'checkbox',
      id: 'all',
      onchange: event => {
        state.all = event.target.checked;
        solve();
      },
    }),
    'Show coefficients that may be noise, too, in grey',
  );
  const canAuto = facts.tellsNoise;
  if (!canAuto) {
    state.mode = 'hand';
    state.power = -1;
  }
  const controls = make(
    'div',
    { class: 'controls-only' },
    make('label', { class: 'field' }, make('span', {}, 'Predict'), targets),
    make(
      'fieldset',
      {},
      make('legend', {}, 'from'),
      columns.length > 12 ? make('div', { class: 'row' }, find) : null,
      ticks,
      make(
        'div',
        { class: 'row' },
        button('Clear of noise', () => choose(state.target)),
        button('All', () => tickAll(true)),
        button('None', () => tickAll(false)),
      ),
    ),
    make(
      'fieldset',
      {},
      make('legend', {}, 'Penalty'),
      radio('auto', canAuto ? 'automatic, from the noise' : 'automatic: this release does not tell its noise', !canAuto),
      radio('none', 'none: least squares'),
      radio('hand', 'by hand:'),
      slider,
      make('p', { class: 'note' }, 'alpha = ', amount),
    ),
    everyOne,
  );
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
      if (size.has(c) && correlations.clear(target, j))
        size.set(c, Math.max(size.get(c), Math.abs(correlations.value(target, j))));
    });
    const every = [...size.keys()],
      sorted = every.filter(c => size.get(c) > 0).sort((a, b) => size.get(b) - size.get(a));
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
    const isLevel = data.means?.isLevel ?? [],
      partners = data.features.map((_, i) =>
        isLevel[i]
          ? -1
          : data.features.filter((_, j) => data.columnOf[i] !== data.columnOf[j] && correlations.clear(i, j)).length,
      );
    return partners.lastIndexOf(Math.max(...partners));
  }
  function showTicks() {
    const own = data.columnOf[state.target];
    boxes.forEach(({ box }, c) => {
      box.checked = state.ticked.has(c);
      box.disabled = c === own;
    });
  }
  function choose(target, ticked = null) {
    state.target = target;
    targets.value = target;
    state.ticked = new Set(ticked ?? strongest(target));
    state.ticked.delete(data.columnOf[target]);
    const first = [...state.ticked].sort((a, b) => a - b),
      others = columns.map((_, c) => c).filter(c => !state.ticked.has(c));
    ticks.append(...[...first, ...others].map(c => boxes[c].line)); // a long list begins with those that count
    showTicks();
    solve();
  }

  let waiting = 0;
  function solve() {
    const turn = ++waiting;
    if (state.ticked.size === 0) {
      result.replaceChildren(make('p', { class: 'panel' }, 'Tick a column or more to predict from.'));
      return;
    }
    const slow = (held === null && d > SLOW) || state.ticked.size > SLOW || (state.mode === 'auto' && state.ticked.size > SLOW);
    if (!slow) {
      show();
      return;
    }
    result.setAttribute('aria-busy', 'true');
    result.replaceChildren(make('p', { class: 'panel' }, 'Solving: a few seconds for so many columns …'));
    setTimeout(() => {
      if (turn === waiting) show();
    }, 60);
  }

  function show() {
    held ??= regressionData(data, arrays);
    const place = state.target,
      places = data.features.map((_, j) => j).filter(j => state.ticked.has(data.columnOf[j]));
    const { predictors } = normalEquations(systemOf(held, place, places).covariance, systemOf(held, place, places).m);
    const m = Math.sqrt(predictors.length),
      average = Array.from({ length: m }, (_, i) => predictors[i * m + i]).reduce((a, b) => a + b, 0) / m;
    const byHand = Number(((average > 0 ? average : 1) * 10 ** (state.power ?? -1)).toPrecision(3));
    const alpha = { auto: 'auto', none: 0, hand: byHand }[state.mode];
    const fit = ridge(held, place, places, alpha),
      quality = explained(held, fit);
    const intervals = facts.silent === null ? populationIntervals(held, place, places, fit.references) : null;
    amount.textContent = fit.alpha > 1e6 * average ? 'so large that nothing is left' : plain(Number(fit.alpha.toPrecision(3)));
    if (state.mode !== 'hand' && fit.alpha > 0) slider.value = Math.log10(fit.alpha / (average || 1));
    slider.setAttribute('aria-valuetext', `alpha ${amount.textContent}`);
    const model = {
      place,
      places,
      alpha,
      fit,
      quality,
      intervals,
      reading: readingOf(data, held, arrays, facts, place, fit, quality, intervals),
    };
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
