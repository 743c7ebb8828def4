// Names and their values, in a <dl class="facts">.

import { h } from './dom.js';
import { number, t } from './i18n.js';

// facts lists a map of values; values of maps inside it are joined by a dot.
export function facts(list, values) {
  const rows = flatten(values);
  list.replaceChildren(...rows.map(([name, value]) => h('div', { class: String(value).length > 18 ? 'long' : '' }, h('dt', {}, name), h('dd', {}, typeof value === 'number' ? number(value) : String(value)))));
  if (rows.length === 0) list.append(h('div', { class: 'hint' }, t('ops.nothing')));
}

function flatten(values, prefix = '') {
  return Object.entries(values).flatMap(([name, value]) =>
    (value !== null && typeof value === 'object' ? flatten(value, `${prefix}${name}.`) : [[prefix + name, value ?? '–']]));
}
