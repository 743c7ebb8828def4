// Texts in the page's language. The catalogs are the ones the server renders
// with; placeholders look like {name}.

export const lang = document.documentElement.lang;

const { default: texts } = await import(`../i18n/${lang}.js`);
const plurals = new Intl.PluralRules(lang);
const numbers = new Intl.NumberFormat(lang);

export function t(key, values = {}) {
  const text = texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

export const known = (key) => key in texts;

// plural is the form of a text that the language has for n: "one" or "other".
export const plural = (n) => (plurals.select(n) === 'one' ? 'one' : 'other');

// tn picks "key.one" or "key.other" by that rule.
export const tn = (key, n, values = {}) => t(`${key}.${plural(n)}`, { n: number(n), ...values });

export const number = (n) => numbers.format(n);

export const money = (won) => t('money', { n: number(won) });

// clock shows a length of time as m:ss.
export function clock(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

export const time = (date) =>
  new Intl.DateTimeFormat(lang, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(date);

// moment is a day and a time of it, and day a day alone.
export const moment = (date) => new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeStyle: 'short' }).format(date);
export const day = (date) => new Intl.DateTimeFormat(lang, { dateStyle: 'long' }).format(date);

const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' });

// ago says how long a moment is past, in the unit that fits.
export function ago(date) {
  const seconds = Math.min(0, Math.round((date.getTime() - Date.now()) / 1000));
  const [unit, size] = [['day', 86400], ['hour', 3600], ['minute', 60]].find(([, n]) => -seconds >= n) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / size), unit);
}
