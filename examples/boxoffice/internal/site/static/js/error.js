// A page that came without its data looks again by itself.

import './site.js';
import { answers, connection } from './connection.js';
import { $ } from './dom.js';

if ($('[data-status="503"]')) {
  connection.addEventListener('recovered', () => location.reload());
  setTimeout(async () => { if (await answers()) location.reload(); }, 3000);
}
