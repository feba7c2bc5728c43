// Puts the page together: parts that this release has, exports, and the switch between dark and light.

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const dark = theme === 'dark';
  document.getElementById('theme').textContent = dark ? 'Light' : 'Dark';
  document.getElementById('theme').setAttribute('aria-label', dark ? 'Switch to light colours' : 'Switch to dark colours');
  document.dispatchEvent(new Event('themechange'));
}

function startTheme() {
  const preferred = window.matchMedia('(prefers-color-scheme: dark)');
  let own = false;
  setTheme(preferred.matches ? 'dark' : 'light');
  preferred.addEventListener('change', () => {
    if (!own) setTheme(preferred.matches ? 'dark' : 'light');
  });
  document.getElementById('theme').addEventListener('click', () => {
    own = true;
    setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  });
  let before = null;
  window.addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    for (const one of document.querySelectorAll('details')) one.open = true;
    setTheme('light');
  });
  window.addEventListener('afterprint', () => setTheme(before));
  document.getElementById('print').addEventListener('click', () => window.print());
}

function exportPart(data, correlations) {
  const holder = document.getElementById('export'),
    { means } = data;
  const number = value => (value === null || Number.isFinite(value) ? value : null);
  if (means) {
    holder.append(
      button('Means (CSV)', () =>
        download(
          'means.csv',
          'text/csv',
          csv([
            [
              'feature',
              ...['mean', 'deviation']
                .filter(name => means[name])
                .flatMap(name => [name, `${name} standard error`, `${name} clear of noise`]),
            ],
            ...data.features.map((name, i) => [
              name,
              ...['mean', 'deviation']
                .filter(one => means[one])
                .flatMap(one => [means[one].value[i] ?? NaN, means[one].error[i] ?? NaN, String(means[one].clear[i])]),
            ]),
          ]),
        ),
      ),
      ' ',
    );
  }
  const pairs = () =>
    strongestPairs(data, correlations).map(([i, j]) => [
      data.features[i],
      data.features[j],
      correlations.value(i, j),
      correlations.error(i, j),
    ]);
  if (correlations) {
    holder.append(
      button('Pairs that are clear of noise (CSV)', () =>
        download(
          'correlations.csv',
          'text/csv',
          csv([['feature', 'feature', data.correlation.name, 'standard error'], ...pairs()]),
        ),
      ),
      ' ',
    );
  }
  holder.append(
    button('Everything (JSON)', () => {
      const { arrays, block, regression, ...facts } = data;
      if (correlations) {
        facts.pairs = pairs().map(([one, other, value, error]) => ({
          features: [one, other],
          [data.correlation.name]: value,
          standard_error: number(error),
        }));
      }
      download('release-numbers.json', 'application/json', `${JSON.stringify(facts, null, 1)}\n`);
    }),
  );
}

async function start() {
  startTheme();
  listPart('overview', 'Overview');
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.means) showMeans(data);
  if (data.model) showModel(data);
  let correlations = null;
  if (Object.keys(data.arrays).length) {
    if (typeof DecompressionStream === 'undefined') throw new Error('this browser is too old: it cannot decompress.');
    const arrays = await readArrays(data);
    correlations = data.correlation ? correlationsOf(data, arrays) : null;
    let toModel = null;
    if (correlations) {
      showCorrelations(data, correlations, Array.from(arrays.order), data.regression && ((i, j) => toModel(i, j)));
    }
    if (data.components) showComponents(data, arrays);
    if (data.regression) toModel = showExplorer(data, arrays, correlations);
    if (correlations) showPlanner(data);
  }
  if (data.tooMany) {
    section(
      'correlations',
      'Correlations',
      `A page shows the pairs of ${COMMON.format(data.tooMany)} features at most; release.describe(), release.ridge(…) and ` +
        'release.pca() have all of them.',
    );
  }
  exportPart(data, correlations);
  document.documentElement.dataset.ready = 'true';
}

start().catch(error => {
  document
    .getElementById('rest')
    .append(make('p', { class: 'stamp' }, make('strong', {}, 'This part failed'), String(error.message)));
  throw error;
});
