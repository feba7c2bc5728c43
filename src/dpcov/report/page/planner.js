// What another release would show: with more rows, fewer columns, or more budget.

function showPlanner(data) {
  const plan = data.planner,
    part = section('planner', 'Plan the next release', 'What would be seen with other rows, columns or budget?');
  if (plan === null || plan.noise === null) {
    part.append(
      make(
        'p',
        {},
        'The noise of this release hides its deviations, so it cannot tell how much would be enough. ' +
          'dpcov.plan_table(schema, budget, n=…) tries releases of made-up rows, and needs none of yours.',
      ),
    );
    return;
  }
  const [budget, power] = plan.budget;
  const many = factor => (factor === 1 ? 'as' : factor > 1 ? `${plain(factor)} times` : `1/${plain(1 / factor)} of`);
  const controls = [
    [
      'rows',
      plan.who === 'people' ? 'People' : 'Rows',
      -3,
      5,
      factor => {
        if (plan.rows === null) return factor === 1 ? 'as today' : `${many(factor)} today's`; // they have weights
        const today = `${many(factor)} today's ${COMMON.format(plan.rows)}`;
        return factor === 1 ? today : `${today}: ${COMMON.format(Math.round(plan.rows * factor))}`;
      },
    ],
    [
      'columns',
      'Columns',
      -4,
      2,
      factor =>
        factor === 1
          ? `as today's ${plan.columns}`
          : `about ${COMMON.format(Math.max(Math.round(plan.columns * factor), 2))} in place of today's ${plan.columns}`,
    ],
    ['budget', 'Budget', -4, 4, factor => `${many(factor)} today's ${budget}`],
  ].map(([id, label, min, max, words]) => {
    const said = make('output', { for: `plan-${id}` }),
      slider = make('input', { type: 'range', id: `plan-${id}`, min, max, step: 1, value: 0, oninput: () => show() });
    return { id, words, said, slider, line: make('label', { class: 'field' }, make('span', {}, label), slider, said) };
  });
  const result = make('div', { 'aria-live': 'polite', id: 'plan' });
  const set = factors => {
    for (const one of controls) one.slider.value = Math.log2(factors[one.id] ?? 1);
    show();
  };
  part.append(
    make(
      'div',
      { class: 'split controls' },
      make(
        'div',
        { class: 'controls-only' },
        controls.map(one => one.line),
      ),
      make(
        'div',
        {},
        make(
          'div',
          { class: 'row controls-only' },
          button(`Twice the ${plan.who}`, () => set({ rows: 2 })),
          button('Half the columns', () => set({ columns: 0.5 })),
          button('Both', () => set({ rows: 2, columns: 0.5 })),
          button('As today', () => set({})),
        ),
        result,
      ),
    ),
  );

  const left = plain(Number((100 * 0.5 ** plan.power).toPrecision(2)));
  function show() {
    const factors = {};
    for (const { id, slider, said, words } of controls) {
      factors[id] = 2 ** Number(slider.value);
      said.textContent = words(factors[id]);
      slider.setAttribute('aria-valuetext', said.textContent);
    }
    const noise = (plan.noise * factors.columns ** plan.power) / factors.rows / factors.budget ** power;
    const drawn_ = plan.draw / Math.sqrt(factors.rows),
      whole = Math.hypot(noise, drawn_),
      today = Math.hypot(plan.noise, plan.draw);
    const two = number => rounded(number, number)[1],
      known = error => (error < 1 ? `± ${two(error)}` : 'not at all'),
      weakest = error => (3 * error < 1 ? `|r| above ${two(3 * error)}` : 'none');
    const share = (part_, all) => `${Math.round((100 * part_ ** 2) / all ** 2)} %`;
    result.dataset.error = whole;
    const line = (name, now, then) => make('tr', {}, make('th', { scope: 'row' }, name), numberCell(now), numberCell(then));
    result.replaceChildren(
      table(
        'What another release would show',
        ['', '#this release', '#the next'],
        [
          line('typical correlation', known(today), known(whole)),
          line('clear of noise', weakest(today), weakest(whole)),
          line('privacy noise in its variance', share(plan.noise, today), share(noise, whole)),
        ],
        { classes: 'plan' },
      ),
      notes([
        `A rule of thumb, from the errors of this release: noise about halves with twice the ${plan.who}, and their draw ` +
          'shrinks with the root of their number.',
        data.hasSchema
          ? `Half the columns leave ${left} % of the noise, by a plan of made-up rows with this schema.`
          : "Half the columns leave half of the noise, where row_norm, which a row's columns share, is chosen anew.",
        'Typical is the median of the correlations, of columns of numbers where there are some. What is no privacy noise in ' +
          'its variance is the draw of rows. dpcov.plan_table is more exact, column by column.',
      ]),
    );
  }
  show();
}
