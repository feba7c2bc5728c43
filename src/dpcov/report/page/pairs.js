// Pairs of features: one in words, and the strongest as a list.

const PAIRS_AT_ONCE = 25;

/** One pair in words: what is known of it, of both features, and what to do with it. */
function pairDetail(data, correlations, i, j, onModel) {
  const value = correlations.value(i, j),
    error = correlations.error(i, j),
    clear = correlations.clear(i, j);
  const names = make('p', {}, named(data.features[i], false), ' and ', named(data.features[j], false));
  if (i === j)
    return [make('p', { class: 'big' }, '1'), names, make('p', { class: 'note' }, 'Every feature goes together with itself.')];
  const same = data.columnOf[i] === data.columnOf[j],
    isKnown = !Number.isNaN(error);
  const verdict = same
    ? 'Levels of one column: a person has only one of them, so they exclude each other.'
    : !isKnown
      ? 'How large its noise is, the release does not tell.'
      : !clear
        ? 'Noise and the draw of rows could make this: nothing is known of it, not even its sign.'
        : `Clear of noise, by ${plain(Number((Math.abs(value) / error).toPrecision(2)))} standard errors: where one is ` +
          `large, ${value > 0 ? 'so is the other' : 'the other is small'}.`;
  const [text, interval] = correlationWords(value, error, clear).split(', ');
  const big = make(
    'p',
    { class: clear || !isKnown ? 'big' : 'big noise', 'data-value': clear || !isKnown ? value : null, 'data-error': error },
    text,
  );
  const act =
    onModel !== null && !same && clear
      ? make(
          'p',
          { class: 'controls-only' },
          button('Predict the first from the second', () => onModel(i, j)),
        )
      : null;
  return [
    big,
    interval ? make('p', { class: 'note' }, interval) : null,
    names,
    make('p', { class: 'note' }, verdict),
    act,
  ].filter(one => one !== null);
}

/** The pairs of different columns that are clear of noise, by what they have at least: their size less two standard errors. */
function strongestPairs(data, correlations) {
  const d = data.features.length,
    found = [];
  for (let i = 0; i < d; i++) {
    for (let j = i + 1; j < d; j++) {
      if (correlations.clear(i, j) && data.columnOf[i] !== data.columnOf[j]) {
        found.push([i, j, Math.abs(correlations.value(i, j)) - 2 * (correlations.error(i, j) || 0)]);
      }
    }
  }
  return found.sort((one, other) => other[2] - one[2]);
}

function pairList(data, correlations, strongest, holder, open) {
  let shown = PAIRS_AT_ONCE;
  const find = make('input', {
    type: 'search',
    placeholder: 'Only with…',
    'aria-label': 'Only pairs with a feature whose name contains',
  });
  const under = make('div');
  const fill = () => {
    const wanted = find.value.trim().toLowerCase(),
      has = i => data.features[i].toLowerCase().includes(wanted);
    const found = wanted === '' ? strongest : strongest.filter(([i, j]) => has(i) || has(j));
    const rows = found.slice(0, shown).map(([i, j]) => {
      const [number, own] = rounded(correlations.value(i, j), correlations.error(i, j));
      return make(
        'tr',
        {},
        make(
          'td',
          {},
          make(
            'button',
            { type: 'button', class: 'pair', onclick: () => open(i, j) },
            named(data.features[i]),
            ' · ',
            named(data.features[j]),
          ),
        ),
        numberCell(number),
        numberCell(`± ${own}`),
      );
    });
    if (!found.length) {
      under.replaceChildren(
        make(
          'p',
          { class: 'note' },
          wanted ? 'No such pair is clear of noise.' : 'None. More rows, a larger budget or fewer columns would show more.',
        ),
      );
      return;
    }
    under.replaceChildren(
      table('Strongest pairs', ['pair', `#${data.correlation.name === 'correlation' ? 'r' : 'cosine'}`, '#±'], rows),
      shown < found.length
        ? make(
            'p',
            { class: 'row controls-only' },
            button(`${PAIRS_AT_ONCE} more`, () => {
              shown += PAIRS_AT_ONCE;
              fill();
            }),
            make('span', { class: 'note' }, `${COMMON.format(shown)} of ${COMMON.format(found.length)}`),
          )
        : '',
    );
  };
  find.addEventListener('input', () => {
    shown = PAIRS_AT_ONCE;
    fill();
  });
  if (strongest.length > 12) holder.append(make('div', { class: 'row controls-only' }, find));
  holder.append(under);
  fill();
}
