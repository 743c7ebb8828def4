// The gate: a number, and waiting until it is served.

async function step() {
  const { request } = place.get();
  if (!request) {
    await assign();
    return;
  }
  const answer = await ask('GET', address(config.check, true, request));
  if (loop.task !== step) return;
  // A number that the gate does not know any more is worth a new one, not an end.
  if (!answer.body?.redirectTo && answer.body !== null && [400, 403, 404, 410].includes(answer.status) && !/sold-?out|ended/.test(kindOf(answer.body))) {
    // Another tab may have a new one already.
    if (place.get().request === request) place.set({});
    if (journey.start > 0) renew();
    loop.again(pollAfter(answer.body));
    return;
  }
  if (refused(answer)) return;
  calm();
  const { body } = answer;
  if (body.admitted) {
    show('opening');
    render();
    if (!goOn(address(config.admitted))) end('failed');
    return;
  }
  atGate(body);
}

function atGate(body) {
  const served = Number(body.servingCounter) || 0;
  const ahead = Math.max(0, body.position - served - 1);
  const paced = pace(served, ahead);
  lineUp(body, ahead, body.estimatedWait ?? paced);
}

// assign asks for a number once, also when two tabs open at the same moment. A browser that
// refuses cookies may refuse locks as well.
async function assign() {
  const once = async () => {
    if (place.get().request) {
      loop.again(0);
      return;
    }
    nameBrowser();
    const answer = await ask('POST', address(config.assign));
    if (loop.task !== step || refused(answer)) return;
    calm();
    if (!answer.body.requestId) {
      trouble(answer);
      return;
    }
    place.set({ request: answer.body.requestId });
    loop.again(0);
  };
  await (navigator.locks?.request(drawerKey, once).catch(once) ?? once());
}

// nameBrowser gives the browser a random name, for two days. The gate seals the number to
// the name, so that a copied number is worth nothing elsewhere.
function nameBrowser() {
  const cookie = 'urr-vwr-browser';
  const known = document.cookie.split('; ').find((pair) => pair.startsWith(`${cookie}=`));
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const name = known ? known.slice(cookie.length + 1) : random();
  document.cookie = `${cookie}=${name}; Path=/; Max-Age=172800; SameSite=Lax${location.protocol === 'https:' ? '; Secure' : ''}`;
}

// pace estimates the wait at the gate by how fast its counter moves; undefined
// when that says nothing new.
function pace(served, ahead) {
  const now = Date.now();
  const first = journey.pace;
  if (!first || served < first.served || now - first.at > 600000) {
    remember({ pace: { served, at: now } });
    return undefined;
  }
  if (served === first.served || now - first.at < 5000) return undefined;
  return (ahead + 1) / ((served - first.served) / ((now - first.at) / 1000));
}
