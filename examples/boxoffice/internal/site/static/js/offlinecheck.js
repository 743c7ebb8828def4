// Verifies a code with the office's public keys alone: that it is genuine, and its
// seat. Only the office knows whether it was used, refunded or transferred.

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
const json = (text) => JSON.parse(new TextDecoder().decode(bytes(text)));

// genuine returns {show, seat} of a code that one of the keys of a JSON Web Key Set has
// signed, and null for everything else.
export async function genuine(code, keys) {
  const [head, body, signature, more] = code.split('.');
  try {
    const { alg, typ, kid } = json(head);
    const key = keys.find((one) => one.kid === kid);
    if (more !== undefined || alg !== 'EdDSA' || typ !== 'ticket' || !key) return null;
    const imported = await crypto.subtle.importKey('jwk', { kty: key.kty, crv: key.crv, x: key.x }, 'Ed25519', false, ['verify']);
    const good = await crypto.subtle.verify('Ed25519', imported, bytes(signature), new TextEncoder().encode(`${head}.${body}`));
    return good ? json(body) : null;
  } catch {
    return null; // no such form, or a browser that does not know Ed25519
  }
}
