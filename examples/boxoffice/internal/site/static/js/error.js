// A page that came without its data looks again by itself.

import './site.js';
import { answers, connection } from './connection.js';
import { $ } from './dom.js';

const EVERY = 3000; // ms

if ($('[data-status="503"]')) {
  connection.addEventListener('recovered', () => location.reload());
  const look = async () => {
    if (await answers()) location.reload();
    else setTimeout(look, EVERY);
  };
  setTimeout(look, EVERY);
}
