// Solves a puzzle of the waiting room, in a worker: see package challenge. SHA-256 is
// written out (FIPS 180-4), since crypto.subtle is absent from pages over http. Each
// message is one block: 8 words of the seed, i, n, and the padding.
'use strict';

const texts = {
  en: 'One moment: your browser is solving a small task that keeps programs from taking places by the thousand. You need not do anything.',
  ko: '잠시만요. 프로그램이 자리를 대량으로 차지하지 못하도록 브라우저가 작은 문제를 풀고 있어요. 아무것도 하지 않으셔도 됩니다.',
};

const K = new Int32Array(64);
const H = new Int32Array(8);

// The constants are the first bits of the fractional parts of the roots of primes.
(() => {
  const fraction = (x) => ((x - Math.floor(x)) * 0x100000000) | 0;
  for (let n = 2, found = 0; found < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (!prime) continue;
    if (found < 8) H[found] = fraction(Math.sqrt(n));
    K[found++] = fraction(Math.cbrt(n));
  }
})();

const W = new Int32Array(64);

// first is the first word of the hash of the block in W.
function first() {
  for (let t = 16; t < 64; t++) {
    const x = W[t - 15];
    const y = W[t - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    W[t] = (W[t - 16] + s0 + W[t - 7] + s1) | 0;
  }
  let a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
  for (let t = 0; t < 64; t++) {
    const S1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + S1 + ((e & f) ^ (~e & g)) + K[t] + W[t]) | 0;
    const S0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (S0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0;
    d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  return (a + H[0]) | 0;
}

// solve is the answer: the proof, or the wait of a browser that is too slow.
function solve({ puzzle, seed, bits, proofs, wait }) {
  const end = wait ? performance.now() + 1000 * wait : Infinity;
  const numbers = [];
  for (let k = 0; k < 8; k++) W[k] = parseInt(seed.slice(8 * k, 8 * k + 8), 16);
  W[10] = 0x80000000;
  W[15] = 320;
  for (let i = 0; i < proofs; i++) {
    let n = -1;
    do {
      W[8] = i;
      W[9] = ++n;
      if (n % 1024 === 1023 && performance.now() > end) return `wait.${puzzle}`;
    } while (Math.clz32(first()) < bits);
    numbers.push(n);
  }
  return `work.${puzzle}.${numbers.join(',')}`;
}

onmessage = ({ data }) => {
  postMessage({ text: texts[data.lang] || texts.en });
  postMessage({ answer: solve(data) });
};
