// The service worker. It does one thing: when a page is loaded and the server
// does not answer, it shows the waiting page, which reloads the wanted one as
// soon as the server is back. Nothing else is answered from a cache but the
// files of this very version, whose address holds their hash.

const HASH = '__HASH__';
const CACHE = `boxoffice-${HASH}`;
const STATIC = `/static/${HASH}/`;
const LANGUAGES = ['en', 'ko'];
const FILES = [
  'css/base.css', 'css/parts.css', 'font/fraunces.woff2', 'img/icon.svg',
  'js/offline.js', 'js/site.js', 'js/dom.js', 'js/i18n.js', 'js/session.js', 'js/connection.js',
  ...LANGUAGES.map((lang) => `i18n/${lang}.js`),
];

addEventListener('install', (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    // Without credentials: the answer's cookie must not change the language.
    const pages = LANGUAGES.map((lang) => new Request(`/offline?lang=${lang}`, { credentials: 'omit', cache: 'reload' }));
    await cache.addAll([...pages, ...FILES.map((file) => STATIC + file)]);
    await skipWaiting();
  })());
});

addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith('boxoffice-') && name !== CACHE) await caches.delete(name);
    }
    await clients.claim();
  })());
});

addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.mode === 'navigate') event.respondWith(page(request));
  else if (new URL(request.url).pathname.startsWith(STATIC)) event.respondWith(file(request));
});

async function page(request) {
  try {
    const response = await fetch(request);
    const lang = response.headers.get('Content-Language');
    if (LANGUAGES.includes(lang)) await (await caches.open(CACHE)).put('/language', new Response(lang));
    return response;
  } catch (error) {
    const cache = await caches.open(CACHE);
    const lang = (await (await cache.match('/language'))?.text()) ?? LANGUAGES[0];
    const waiting = await cache.match(`/offline?lang=${lang}`);
    if (waiting) return waiting;
    throw error;
  }
}

async function file(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request.url)) ?? fetch(request);
}
