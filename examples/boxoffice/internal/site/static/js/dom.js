// The few things every page does with elements. Nodes are built one by one and
// texts are set as text, so nothing that comes from the API can become markup.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

const SVG = 'http://www.w3.org/2000/svg';

// h makes an element. Properties that start with "on" are listeners, "class"
// and names with a dash are attributes, the rest are properties.
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class' || name === 'role' || name.includes('-')) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// setText changes a text only when it differs, so that live regions and
// selections are left alone.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// keep fills a list, and leaves it alone when it has these elements already.
export function keep(list, elements) {
  if (elements.length !== list.children.length || elements.some((element, i) => list.children[i] !== element)) list.replaceChildren(...elements);
}

export function show(element, visible = true) {
  if (element.hidden === visible) element.hidden = !visible;
}

// tell shows a problem where the page has its place for one; null takes it away.
export function tell(element, problem) {
  show(element, problem !== null);
  element.replaceChildren();
  if (problem === null) return;
  element.append(h('strong', {}, problem.title));
  if (problem.detail && problem.detail !== problem.title) element.append(' ', problem.detail);
}

// attempt does a task while its button is disabled, and shows a problem in its place. It
// resolves to whether the task was done.
export async function attempt(button, place, task) {
  button.disabled = true;
  tell(place, null);
  try {
    await task();
    return true;
  } catch (error) {
    if (error.title === undefined) throw error;
    tell(place, error);
    return false;
  } finally {
    button.disabled = false;
  }
}

let announcing;

// announce has a screen reader say something, after other changes of the same moment;
// the last text replaces earlier ones.
export function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    const live = $('#live');
    live.textContent = '';
    live.textContent = text;
  }, 60);
}
