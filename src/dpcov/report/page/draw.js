// Elements of the page: text is always text.

const MOST_LETTERS = 300; // of a name, where there is room; the Python of a model has all of it
const SVG = 'http://www.w3.org/2000/svg';

/** An element with attributes, listeners ("on…") and children, which are elements or text. */
function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return element;
}

/** A name, in whatever direction it is written. */
function named(name, short = true) {
  const text = legible(name),
    long = text.length > LONGEST,
    shown = text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
  return make('bdi', { class: short ? 'short' : 'name', title: short && long ? shown : null }, shown);
}

function table(caption, headings, rows, { label = caption, classes = '' } = {}) {
  return make(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
    make(
      'table',
      { class: classes },
      make('caption', { class: 'hidden' }, caption),
      make(
        'thead',
        {},
        make(
          'tr',
          {},
          headings.map(heading =>
            heading instanceof Node
              ? heading
              : make('th', { scope: 'col', class: heading.startsWith('#') ? 'number' : null }, heading.replace('#', '')),
          ),
        ),
      ),
      make('tbody', {}, rows),
    ),
  );
}

const cell = (content, attributes = {}) => make('td', attributes, content);
const numberCell = (text, attributes = {}, isNoise = text === NOISE) =>
  make('td', { class: isNoise ? 'number noise' : 'number', ...attributes }, text);

/** A section of the page with its heading, which the list of parts links to. */
function section(id, heading, lead) {
  const found = make(
    'section',
    { id, 'aria-labelledby': `${id}-h`, tabindex: -1 },
    make('h2', { id: `${id}-h` }, heading),
    lead ? make('p', { class: 'lead' }, lead) : null,
  );
  document.getElementById('rest').append(found);
  listPart(id, heading);
  return found;
}

function listPart(id, heading) {
  document.getElementById('parts').append(make('li', {}, make('a', { href: `#${id}` }, heading)));
}

const notes = lines =>
  lines.length
    ? make(
        'ul',
        { class: 'notes' },
        lines.map(line => make('li', {}, line)),
      )
    : null;

const button = (text, action, attributes = {}) => make('button', { type: 'button', onclick: action, ...attributes }, text);

/** Say something to those who listen to the page. */
function say(text) {
  document.getElementById('status').textContent = text;
}

/** Hand a file to whoever reads the page: made here, sent nowhere. */
function download(name, type, text) {
  const link = make('a', { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(`${name} was handed to the browser.`);
}

/** Cells with commas between them; a name that a spreadsheet would run as a formula gets a leading apostrophe. */
function csv(rows) {
  const safe = value => {
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => row.map(safe).join(',')).join('\n') + '\n';
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // where a page on disk may not
    const area = make('textarea', {}, text);
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say('Copied.');
}

/** An axis of round numbers from low to high. */
function roundTicks(low, high, count = 5) {
  const rough = (high - low) / count,
    unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * unit).find(one => one >= rough),
    found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step)
    found.push(Number(tick.toPrecision(12)));
  return found;
}

/** A dot with its interval on a line from low to high; where in it nothing can be told from noise, grey. */
function reach(low, high, { middle, from, to, clear, other = null, zero = null }, width = 190) {
  const at = value => 6 + (width - 12) * Math.min(Math.max((value - low) / (high - low || 1), -0.02), 1.02);
  const known = Number.isFinite(from) && Number.isFinite(to);
  return drawn(
    'svg',
    { width, height: 16, viewBox: `0 0 ${width} 16`, 'aria-hidden': 'true' },
    drawn('line', { class: 'gridline', x1: 6, x2: width - 6, y1: 8, y2: 8 }),
    zero === null ? null : drawn('line', { class: 'axis', x1: at(zero), x2: at(zero), y1: 1, y2: 15 }),
    known ? drawn('line', { class: clear ? 'reach' : 'drowned-line', x1: at(from), x2: at(to), y1: 8, y2: 8 }) : null,
    known || clear ? drawn('circle', { class: clear ? 'value' : 'drowned', cx: at(middle), cy: 8, r: 3.2 }) : null,
    other === null ? null : drawn('path', { class: 'model', d: `M${at(other)} 3l4 5l-4 5l-4 -5z` }),
  );
}
