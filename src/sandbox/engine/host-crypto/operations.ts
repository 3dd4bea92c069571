import {
  constants,
  createECDH,
  createHash,
  createHmac,
  diffieHellman,
  ECDH,
  generateKeyPairSync,
  getCiphers,
  getCurves,
  getHashes,
  hkdfSync,
  pbkdf2Sync,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  scryptSync,
  sign,
  verify,
} from "node:crypto";
import type { JsonObject } from "../../../base/json.js";
import type { OpenCiphers } from "./ciphers.js";
import { describeKey, exportKey, keyWithOptions, readKey } from "./keys.js";
import { bytesOf, optionalText, optionalWhole, textOf, wholeOf } from "./parameters.js";

type Operation = (parameters: JsonObject, data: Uint8Array) => Uint8Array | string;

/**
 * Bounds for what runs natively, where no deadline can stop it: each keeps a call below about a second. A million rounds
 * of PBKDF2 with SHA-256 take some 0.4 s, scrypt with 32 MB (Node's own limit) 0.1 s.
 */
const MOST_ROUNDS = 1_000_000;
const MOST_DERIVED_BYTES = 1_024;
const MOST_SCRYPT_BYTES = 32 * 1024 * 1024;

const operations: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["names", (parameters) => JSON.stringify(names(textOf(parameters, "of")))],
  ["constants", () => JSON.stringify(constants)],
  ["hash.check", (parameters) => checked(hashOf(parameters))],
  ["hmac.check", (parameters) => checked(hmacOf(parameters))],
  ["hash", (parameters, data) => hashOf(parameters).update(data).digest()],
  ["hmac", (parameters, data) => hmacOf(parameters).update(data).digest()],
  ["sign", (parameters, data) => sign(optionalText(parameters, "algorithm"), data, keyWithOptions(parameters.key))],
  ["verify", (parameters, data) => String(verifies(parameters, data))],
  ["publicEncrypt", (parameters, data) => publicEncrypt(keyWithOptions(parameters.key), data)],
  ["privateDecrypt", (parameters, data) => privateDecrypt(keyWithOptions(parameters.key), data)],
  ["privateEncrypt", (parameters, data) => privateEncrypt(keyWithOptions(parameters.key), data)],
  ["publicDecrypt", (parameters, data) => publicDecrypt(keyWithOptions(parameters.key), data)],
  ["pbkdf2", derivePbkdf2],
  ["scrypt", deriveScrypt],
  ["hkdf", deriveHkdf],
  ["key.describe", (parameters) => JSON.stringify(describeKey(readKey(parameters.key)))],
  ["key.export", (parameters) => exportKey(readKey(parameters.key), parameters)],
  ["ecdh.generate", generateEcdh],
  ["ecdh.publicKey", (parameters) => ecdhOf(parameters).getPublicKey("base64")],
  ["ecdh.convert", convertPoint],
  ["ecdh.compute", (parameters, data) => ecdhOf(parameters).computeSecret(data)],
  ["diffieHellman", agree],
  ["generateKeyPair", generatePair],
]);

/**
 * One call of the guest's `crypto` module.
 *
 * @param operation as guest/crypto names it.
 * @throws Error whose message the guest may see: it speaks of the guest's own keys and data, and holds neither.
 */
export function runCrypto(
  operation: string,
  parameters: JsonObject,
  data: Uint8Array,
  ciphers: OpenCiphers,
): Uint8Array | string {
  if (operation.startsWith("cipher.")) return ciphers.run(operation, parameters, data);
  const run = operations.get(operation);
  if (run === undefined) throw new Error(`Unknown operation ${operation}`);
  return run(parameters, data);
}

function names(of: string): string[] {
  if (of === "hashes") return getHashes();
  return of === "curves" ? getCurves() : getCiphers();
}

function hashOf(parameters: JsonObject) {
  const outputLength = optionalWhole(parameters, "outputLength", 0, MOST_DERIVED_BYTES);
  return createHash(textOf(parameters, "algorithm"), outputLength === undefined ? {} : { outputLength });
}

function hmacOf(parameters: JsonObject) {
  return createHmac(textOf(parameters, "algorithm"), bytesOf(parameters, "key"));
}

/** That it could be made was the question: Node refuses what it does not know before there is any data. */
function checked(_made: unknown): string {
  return "";
}

function verifies(parameters: JsonObject, data: Uint8Array): boolean {
  const key = keyWithOptions(parameters.key);
  return verify(optionalText(parameters, "algorithm"), data, key, bytesOf(parameters, "signature"));
}

function derivePbkdf2(parameters: JsonObject): Buffer {
  const rounds = wholeOf(parameters, "iterations", 1, MOST_ROUNDS);
  const bytes = wholeOf(parameters, "keylen", 0, MOST_DERIVED_BYTES);
  // Every 20 bytes or more of output cost all rounds again.
  if (rounds * Math.max(bytes, 64) > MOST_ROUNDS * 64) throw new RangeError('The value of "keylen" is out of range.');
  return pbkdf2Sync(
    bytesOf(parameters, "password"),
    bytesOf(parameters, "salt"),
    rounds,
    bytes,
    textOf(parameters, "digest"),
  );
}

function deriveScrypt(parameters: JsonObject): Buffer {
  const N = optionalWhole(parameters, "N", 2, 2 ** 20) ?? 16_384;
  const r = optionalWhole(parameters, "r", 1, 64) ?? 8;
  const p = optionalWhole(parameters, "p", 1, 16) ?? 1;
  const bytes = wholeOf(parameters, "keylen", 0, MOST_DERIVED_BYTES);
  // Memory is 128 N r; the work is p times as much.
  if (N * r * p * 128 > MOST_SCRYPT_BYTES * 4) throw new RangeError("Invalid scrypt params: too much work");
  const options = { N, r, p, maxmem: MOST_SCRYPT_BYTES };
  return scryptSync(bytesOf(parameters, "password"), bytesOf(parameters, "salt"), bytes, options);
}

function deriveHkdf(parameters: JsonObject): Uint8Array {
  const bytes = wholeOf(parameters, "keylen", 0, MOST_DERIVED_BYTES);
  const key = bytesOf(parameters, "password");
  const { digest, info } = { digest: textOf(parameters, "digest"), info: bytesOf(parameters, "info") };
  return new Uint8Array(hkdfSync(digest, key, bytesOf(parameters, "salt"), info, bytes));
}

function ecdhOf(parameters: JsonObject) {
  const ecdh = createECDH(textOf(parameters, "curve"));
  ecdh.setPrivateKey(bytesOf(parameters, "privateKey"));
  return ecdh;
}

function generateEcdh(parameters: JsonObject): string {
  const ecdh = createECDH(textOf(parameters, "curve"));
  const publicKey = ecdh.generateKeys("base64");
  return JSON.stringify({ publicKey, privateKey: ecdh.getPrivateKey("base64") });
}

function convertPoint(parameters: JsonObject): Buffer {
  const format = textOf(parameters, "format") === "compressed" ? "compressed" : "uncompressed";
  const point = ECDH.convertKey(
    bytesOf(parameters, "publicKey"),
    textOf(parameters, "curve"),
    undefined,
    undefined,
    format,
  );
  return Buffer.from(point);
}

function agree(parameters: JsonObject): Buffer {
  return diffieHellman({ privateKey: readKey(parameters.privateKey), publicKey: readKey(parameters.publicKey) });
}

/** Pairs on curves only: to find primes for RSA takes seconds that nothing could interrupt. */
function generatePair(parameters: JsonObject): string {
  const privateKeyEncoding = { type: "pkcs8", format: "pem" } as const;
  const encodings = { privateKeyEncoding, publicKeyEncoding: { type: "spki", format: "pem" } as const };
  switch (textOf(parameters, "type")) {
    case "ec":
      return JSON.stringify(generateKeyPairSync("ec", { namedCurve: textOf(parameters, "namedCurve"), ...encodings }));
    case "ed25519":
      return JSON.stringify(generateKeyPairSync("ed25519", encodings));
    case "x25519":
      return JSON.stringify(generateKeyPairSync("x25519", encodings));
    default:
      throw new Error("Key pairs can be generated for ec, ed25519 and x25519.");
  }
}
