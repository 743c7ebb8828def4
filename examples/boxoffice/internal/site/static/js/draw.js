// The draw of an opening, verified here in the browser from the published data. The
// box office's own words about a place are not used.

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
const hex = (all) => Array.from(all, (one) => one.toString(16).padStart(2, '0')).join('');

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const digest = async (...parts) => new Uint8Array(await crypto.subtle.digest('SHA-256', joined(...parts)));

// placeOf is the place of a leaf, from 1. It is 0 for a leaf that took no part, and null
// for published data that does not fit together.
export async function placeOf(draw, leaves, leaf) {
  const seed = bytes(draw.seed);
  const root = bytes(draw.root);
  const beacon = bytes(draw.beaconValue ?? '');
  const inOrder = leaves.length === draw.count && leaves.every((one, i) => i === 0 || leaves[i - 1] < one);
  if (!inOrder || hex(await digest(seed)) !== draw.commitment) return null;
  if (hex(await digest(...leaves.map(bytes))) !== draw.root) return null;
  if (!leaves.includes(leaf)) return 0;
  const key = async (one) => hex(await digest(seed, beacon, root, bytes(one)));
  const mine = await key(leaf);
  let place = 1;
  for (const one of leaves) if (await key(one) < mine) place += 1;
  return place;
}
