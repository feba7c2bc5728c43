// Numbers and names as people read them.

const NOISE = '≈ noise';
const MOST_DIGITS = 6; // of a number whose noise is tiny
const LONGEST = 24; // letters of a name in a picture
const COMMON = new Intl.NumberFormat('en-US');

function fixed(number, decimals) {
  const unit = 10 ** -Math.min(decimals, 0),
    text = (Math.round(number / unit) * unit).toFixed(0);
  const found = decimals > 0 ? number.toFixed(Math.min(decimals, 100)) : text;
  return Number(found) === 0 ? found.replace('-', '') : found;
}

/** A number with no more digits than its standard error allows, and the error with two. */
function rounded(value, error) {
  if (!Number.isFinite(error)) return [plain(value), Number.isNaN(error) ? '?' : '∞'];
  if (error === 0) return [plain(value), '0'];
  const size = Math.floor(Math.log10(Math.max(Math.abs(value), error)));
  const decimals = Math.min(1 - Math.floor(Math.log10(error)), MOST_DIGITS - size);
  if (size > -5 && size < 7) return [fixed(value, decimals), fixed(error, decimals)];
  return [value.toExponential(Math.max(size + decimals, 0)), error.toExponential(1)];
}

/** Four digits. */
function plain(number) {
  return Number.isFinite(number) ? String(Number(number.toPrecision(4))) : '?';
}

/** An interval, whose ends have as many digits as give a quarter of its width two. */
function span(lower, upper) {
  if (!Number.isFinite(lower) || !Number.isFinite(upper)) return 'anything';
  const ends = [lower, upper].map(end => rounded(end, Math.max((upper - lower) / 4, TINY))[0]);
  return ends.join(' to ');
}

/** A name as text: controls and marks that turn the direction of what follows are written out. */
function legible(name) {
  return name.replace(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    sign => `\\u${sign.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Both ends of a long name: levels of a column differ at the end. */
function shortened(name, most = LONGEST) {
  const letters = Array.from(legible(name));
  if (letters.length <= most) return letters.join('');
  return `${letters.slice(0, Math.ceil(most / 2) - 1).join('')}…${letters.slice(1 - Math.floor(most / 2) - 1).join('')}`;
}

/** Text that Python reads as this text. */
const inPython = text => JSON.stringify(text);

function counted(number, noun) {
  return `${COMMON.format(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A correlation in words, with its standard error and about its 95 % interval. */
function correlationWords(value, error, isClear) {
  if (!isClear && Number.isFinite(error)) return `${NOISE} (± ${rounded(error, error)[1]})`;
  if (!isClear) return error > 0 ? `${NOISE} (± ∞)` : `${rounded(value, error)[0]} ± ?`;
  const [number, own] = rounded(value, error),
    end = side => Math.min(Math.max(value + side * 1.96 * error, -1), 1);
  return error > 0 ? `${number} ± ${own}, about ${span(end(-1), end(1))} (95 %)` : number;
}
