import { checkPrimeSync, createPrivateKey, type JsonWebKey, type KeyObject, randomBytes } from "node:crypto";

/** Whether the run must end now. Checked between two steps of a long computation. */
export type IsInterrupted = () => boolean;

/** The product of the primes from 3 to 751. A candidate that shares a factor with it costs no test: 92 of 100 do. */
const SMALL_PRIMES = Array.from({ length: 375 }, (_, index) => BigInt(2 * index + 3)).filter((candidate) => {
  for (let divisor = 3n; divisor * divisor <= candidate; divisor += 2n) if (candidate % divisor === 0n) return false;
  return true;
});
const PRODUCT = SMALL_PRIMES.reduce((product, prime) => product * prime, 1n);

/**
 * Generates an RSA key as FIPS 186-5 A.1.3 does: random probable primes. Node generates one in a single native call of
 * unbounded duration (4,096 bits: 0.6 s at the median), which cannot be interrupted. Here every step is short: the
 * longest, the test of a prime of 2,048 bits, takes 0.14 s.
 * @param bits of the modulus, a multiple of 8.
 * @param exponent odd, above 1.
 * @throws {Error} if the run is interrupted.
 */
export function generateRsaKey(bits: number, exponent: bigint, isInterrupted: IsInterrupted): KeyObject {
  for (;;) {
    const p = generatePrime(bits / 2, exponent, isInterrupted);
    const q = generatePrime(bits / 2, exponent, isInterrupted);
    const difference = p > q ? p - q : q - p;
    const phi = (p - 1n) * (q - 1n);
    const d = inverse(exponent, phi / gcd(p - 1n, q - 1n));
    // FIPS 186-5 A.1.1: the primes may not be close to each other, and d may not be small.
    if (difference >> BigInt(bits / 2 - 100) === 0n || d >> BigInt(bits / 2) === 0n) continue;
    const [larger, smaller] = p > q ? [p, q] : [q, p];
    return createPrivateKey({ key: jwkOf(larger, smaller, exponent, d), format: "jwk" });
  }
}

/** The two highest bits are set, so the product of two primes has all its bits. */
function generatePrime(bits: number, exponent: bigint, isInterrupted: IsInterrupted): bigint {
  const highest = 3n << BigInt(bits - 2);
  for (;;) {
    if (isInterrupted()) throw new Error("The key was not generated in time.");
    const candidate = BigInt(`0x${randomBytes(bits / 8).toString("hex")}`) | highest | 1n;
    if (gcd(candidate % PRODUCT, PRODUCT) !== 1n || gcd((candidate - 1n) % exponent, exponent) !== 1n) continue;
    if (checkPrimeSync(candidate)) return candidate;
  }
}

function jwkOf(p: bigint, q: bigint, e: bigint, d: bigint): JsonWebKey {
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  return {
    kty: "RSA",
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, base64url(value)])),
  };
}

function base64url(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

/** The inverse of a modulo m, by the extended Euclidean algorithm. Both are coprime. */
function inverse(a: bigint, m: bigint): bigint {
  let [previous, current] = [a % m, m];
  let [previousFactor, factor] = [1n, 0n];
  while (current !== 0n) {
    const quotient = previous / current;
    [previous, current] = [current, previous - quotient * current];
    [previousFactor, factor] = [factor, previousFactor - quotient * factor];
  }
  return previousFactor < 0n ? previousFactor + m : previousFactor;
}
