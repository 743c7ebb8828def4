// Texts, numbers and times in the visitor's language: by ?lang=, by an earlier
// choice, or by the browser's languages.

const config = JSON.parse(document.getElementById('config').textContent);
for (const name in config.texts) config.texts[name] = Object.fromEntries(config.keys.split(' ').map((key, i) => [key, config.texts[name][i]]));
const query = new URLSearchParams(location.search);
const known = (name) => Object.hasOwn(config.texts, name);

let lang = config.language;
let texts = {};
let plurals = null;
let numbers = null;

function wanted() {
  const asked = query.get('lang');
  if (known(asked)) {
    local.set('queuepage:lang', asked);
    return asked;
  }
  const chosen = local.get('queuepage:lang');
  if (known(chosen)) return chosen;
  for (const tag of navigator.languages || [navigator.language]) {
    const name = String(tag).split('-')[0].toLowerCase();
    if (known(name)) return name;
  }
  return config.language;
}

function speak(name) {
  lang = name;
  texts = config.texts[name];
  plurals = new Intl.PluralRules(name);
  numbers = new Intl.NumberFormat(name);
  document.documentElement.lang = name;
}

// t fills {name} in a text, and picks its form by values.n where it has forms.
function t(key, values = {}) {
  let text = texts[key];
  if (text === undefined) return key;
  if (typeof text !== 'string') text = text[plurals.select(values.n)] || text.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? numbers.format(value) : value;
  });
}

const clockTime = (ms) =>
  new Intl.DateTimeFormat(lang, { hour: 'numeric', minute: '2-digit', second: '2-digit' }).format(new Date(ms));

// minutes shows a length of time as m:ss.
function minutes(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

// span says how long something lasts at least, in the unit that fits.
function span(seconds) {
  if (seconds < 5400) return t('span.minutes', { n: Math.floor(seconds / 60) });
  return t('span.hours', { n: Math.floor(seconds / 3600) });
}
