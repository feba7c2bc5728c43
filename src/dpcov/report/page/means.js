// Means and deviations with their errors: a line for each feature, drawn between its public bounds.

const MOST_ROWS = 60;

function showMeans(data) {
  const { means } = data,
    of = means.mean ?? means.deviation,
    spread = means.deviation;
  const lead = means.mean
    ? 'The estimated mean of each feature, and how far people are from it.'
    : 'Rows were not centred: there are no means, only how large each feature is, root mean square.';
  const part = section('means', means.mean ? 'Means' : 'Sizes', `${lead} ± is one standard error ${means.about}.`);
  const bounded = means.mean !== null && means.low.every(bound => bound !== null);
  const known = of.value.flatMap((value, i) =>
    of.clear[i] && of.error[i] !== null ? [value - 2 * of.error[i], value + 2 * of.error[i]] : [],
  );
  const low = Math.min(0, ...known),
    high = Math.max(0, ...known);
  const order = [...data.features.keys()].filter(i => of.clear[i]).concat([...data.features.keys()].filter(i => !of.clear[i]));
  const line = i => {
    const ends = bounded ? [means.low[i], means.high[i]] : [low, high],
      error = of.error[i] ?? Infinity;
    const picture = reach(...ends, {
      middle: of.value[i],
      from: Math.max(of.value[i] - 2 * error, ends[0]),
      to: Math.min(of.value[i] + 2 * error, ends[1]),
      clear: of.clear[i],
    });
    const numbers = [means.mean, spread]
      .filter(one => one !== null && one !== undefined)
      .flatMap(one => [numberCell(one.text[i]), numberCell(one.errorText[i], {}, !one.clear[i])]);
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, named(data.features[i])),
      numbers,
      cell(make('div', { title: bounded ? `from ${plain(ends[0])} to ${plain(ends[1])}` : null }, picture), { class: 'wide' }),
    );
  };
  const headings = ['feature'];
  if (means.mean) headings.push('#mean', '#±');
  if (spread) headings.push(`#${means.deviationName}`, '#±');
  headings.push(make('th', { scope: 'col', class: 'wide' }, bounded ? 'within its public bounds' : 'compared'));
  part.append(longTable('Means and deviations', headings, order, line));
  const dated = means.dated.length ? ['Dates are written as dates, and what lies between two of them in days.'] : [];
  const levels = means.isLevel.some(Boolean) ? ['The mean of a level, such as sex=F, is its share.'] : [];
  part.append(notes([...dated, ...levels, ...data.notes]) ?? '');
}

/** A table that begins with its first rows: a button adds the others. */
function longTable(caption, headings, order, line) {
  const holder = make('div'),
    count = MOST_ROWS;
  const fill = all => {
    const shown = all ? order : order.slice(0, count);
    const more = order.length - shown.length;
    holder.replaceChildren(
      table(caption, headings, shown.map(line)),
      more > 0
        ? make(
            'p',
            { class: 'row controls-only' },
            button(`Show all ${COMMON.format(order.length)}`, () => fill(true)),
            make('span', { class: 'note' }, `The first ${count} are listed; those that are clear of noise come first.`),
          )
        : '',
    );
  };
  fill(order.length <= count * 1.5);
  return holder;
}
