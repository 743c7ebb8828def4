// The stored values: for this tab, and for this browser. In a browser that refuses to
// store anything the page forgets them at reload.

function drawer(open) {
  const spare = {};
  return {
    get(key) {
      try {
        return spare[key] ?? open().getItem(key);
      } catch {
        return null;
      }
    },
    set(key, value) {
      delete spare[key];
      try {
        open().setItem(key, value);
      } catch {
        // It is refused, or full.
        spare[key] = value;
      }
    },
    drop(key) {
      delete spare[key];
      try {
        open().removeItem(key);
      } catch {
        // There is nothing to drop.
      }
    },
  };
}

const local = drawer(() => localStorage);
const tab = drawer(() => sessionStorage);

function read(drawer, key) {
  try {
    return Object(JSON.parse(drawer.get(key)));
  } catch {
    return {};
  }
}

const event = (() => {
  if (config.event) return config.event;
  const [before, after] = config.path.split('{eventId}');
  const path = location.pathname.replace(/\/+$/, '');
  let id = query.get('event') || '';
  if (after !== undefined && path.startsWith(before) && path.endsWith(after) && path.length > before.length + after.length) {
    try {
      id = decodeURIComponent(path.slice(before.length, path.length - after.length));
    } catch {
      id = '';
    }
  }
  // "." and ".." would be taken for steps in the path of a request.
  return id.length > 256 || /^\.{1,2}$|[/\\\p{Cc}]/u.test(id) ? '' : id;
})();

const drawerKey = `queuepage:${config.kind}:${event}`;

// journey is the way of this tab to the front: its first place, the position of the
// bar, the last announcement, and the estimate.
let journey = read(tab, drawerKey);

function remember(changes) {
  Object.assign(journey, changes);
  tab.set(drawerKey, JSON.stringify(journey));
}

// place proves our place: it is the ticket of the line, or the number that the gate
// has given. All tabs of the browser share it.
const place = {
  get: () => read(local, drawerKey),
  set: (value) => local.set(drawerKey, JSON.stringify(value)),
};

function forget() {
  journey = {};
  tab.drop(drawerKey);
  local.drop(drawerKey);
  if (config.entryKey) tab.drop(address(config.entryKey, false));
}

// address fills a template of the configuration.
function address(template, escape = true, request = '') {
  const put = (value) => (escape ? encodeURIComponent(value) : value);
  return template
    .replace('{here}', () => encodeURIComponent(location.pathname + location.search))
    .replace('{eventId}', () => put(event))
    .replace('{requestId}', () => put(request));
}

// localURL returns a URL on this site, or null: where to go on is never anywhere
// else. It is absolute, since "//host" as a path would leave.
function localURL(text) {
  if (!text?.startsWith?.('/')) return null;
  try {
    const url = new URL(text, location.origin);
    return url.origin === location.origin ? url : null;
  } catch {
    return null;
  }
}
