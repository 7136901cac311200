/** SHA-256 of a text. The browser's own is asynchronous, and the mapper answers at once. */

const ROUND_CONSTANTS = primes(64).map((prime) => fraction(Math.cbrt(prime)));
const START = primes(8).map((prime) => fraction(Math.sqrt(prime)));

export function sha256(text: string): string {
  const input = new TextEncoder().encode(text);
  const padded = new Uint8Array((((input.length + 8) >> 6) << 6) + 64);
  padded.set(input);
  padded[input.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(input.length / 0x2000_0000));
  view.setUint32(padded.length - 4, input.length << 3);
  const hash = [...START];
  for (let offset = 0; offset < padded.length; offset += 64) compress(hash, view, offset);
  return hash.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function compress(hash: number[], view: DataView, offset: number): void {
  const words = new Int32Array(64);
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(offset + i * 4);
  for (let i = 16; i < 64; i += 1) {
    const [early, late] = [words[i - 15]!, words[i - 2]!];
    const s0 = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const s1 = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words[i] = words[i - 16]! + s0 + words[i - 7]! + s1;
  }
  let [a, b, c, d, e, f, g, h] = hash as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i += 1) {
    const sum1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const first = (h + sum1 + ((e & f) ^ (~e & g)) + ROUND_CONSTANTS[i]! + words[i]!) | 0;
    const sum0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const second = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, index) => (hash[index] = (hash[index]! + value) | 0));
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 0x1_0000_0000) | 0;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate += 1) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate);
  }
  return found;
}
