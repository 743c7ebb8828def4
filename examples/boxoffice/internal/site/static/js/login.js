import './site.js';
import { $ } from './dom.js';
import { handleForm } from './session.js';

// Only an address of this site is followed after the sign-in.
function next() {
  const wanted = new URL(new URLSearchParams(location.search).get('next') ?? '/tickets', location.origin);
  return wanted.origin === location.origin ? wanted.href : '/tickets'; // a path may begin with two slashes
}

handleForm($('#login'), () => location.assign(next()));
$('#member-id').focus();
