// The agency's attributes of an artist, their names and values in the page's language.
// A name that the catalogs do not have is made readable.

import { known, lang, number, t } from './i18n.js';

const regions = new Intl.DisplayNames([lang], { type: 'region', fallback: 'code' });
const dates = new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeZone: 'UTC' });

const slug = (value) => value.toLowerCase().replace(/[^a-z0-9]+/g, '-');

// label names an attribute: "debutYear" and "debut_year" are both "Debut year".
export function label(name) {
  const key = `artist.attribute.${name}`;
  if (known(key)) return t(key);
  const figure = /^f0*(\d+)$/.exec(name);
  if (figure) return t('artist.figure', { n: number(Number(figure[1])) });
  const words = name.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replace(/[\s_.-]+/g, ' ').trim().split(' ')
    .map((word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase()));
  const text = words.join(' ');
  return text === '' ? name : text[0].toUpperCase() + text.slice(1);
}

// said is a value of an attribute. Values that are neither text nor boolean are unchanged.
function said(name, value) {
  if (typeof value === 'boolean') return value ? t('artist.yes') : t('artist.no');
  if (typeof value !== 'string') return value;
  const key = `artist.value.${name}.${slug(value)}`;
  if (known(key)) return t(key);
  if (name === 'country' && /^[A-Z]{2}$/.test(value)) return regions.of(value);
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(value) && !Number.isNaN(Date.parse(value))) return dates.format(new Date(value));
  return value;
}

// worded lists attributes by their labels, those of groups inside below the name of
// the group. Two of one label are both there.
export function worded(entries) {
  const all = {};
  const add = (list, prefix) => {
    for (const [name, value] of list) {
      if (value !== null && typeof value === 'object') {
        add(Object.entries(value), `${prefix}${label(name)} · `);
        continue;
      }
      const text = prefix + label(name);
      all[text in all ? `${text} (${name})` : text] = said(name, value);
    }
  };
  add(entries, '');
  return all;
}
