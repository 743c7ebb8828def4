import './site.js';
import { $ } from './dom.js';
import { handleForm } from './session.js';

// Only an address of this site is followed after the sign-in.
function next() {
  const wanted = new URLSearchParams(location.search).get('next');
  const to = URL.canParse(wanted, location.origin) ? new URL(wanted, location.origin) : {};
  return wanted && to.origin === location.origin ? to.href : '/tickets'; // a path may begin with two slashes
}

handleForm($('#login'), () => location.assign(next()));
$('#member-id').focus();
