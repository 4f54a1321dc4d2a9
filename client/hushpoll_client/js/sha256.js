// SHA-256 (FIPS 180-4). Own code because crypto.subtle is absent on pages that came over plain http.

// The first 32 bits of the fractional parts of roots of primes: an integer k-th root of p 2^(32 k), mod 2^32.
function rootBits(prime, k) {
  const target = BigInt(prime) << BigInt(32 * k);
  let low = 0n;
  for (let bit = 1n << 36n; bit; bit >>= 1n) {
    if ((low + bit) ** BigInt(k) <= target) low += bit;
  }
  return Number(low & 0xffffffffn);
}

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) {
  if (PRIMES.every((p) => n % p)) PRIMES.push(n);
}
const START = PRIMES.slice(0, 8).map((p) => rootBits(p, 2));
const ROUND = PRIMES.map((p) => rootBits(p, 3));

const turn = (x, n) => (x >>> n) | (x << (32 - n));

/** Return the SHA-256 of a Uint8Array in lower-case hexadecimal. */
export function sha256(bytes) {
  // Padding: a one bit, zeros, and the length in bits as 64 bits.
  const padded = new Uint8Array(((bytes.length + 8) >> 6 << 6) + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);

  const hash = Uint32Array.from(START);
  const w = new Uint32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >>> 3);
      const s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (hash[i] += value));
  }
  return [...hash].map((word) => word.toString(16).padStart(8, "0")).join("");
}
