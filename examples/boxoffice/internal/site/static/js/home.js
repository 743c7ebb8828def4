import './site.js';
