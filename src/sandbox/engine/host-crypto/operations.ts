import {
  constants,
  createECDH,
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  ECDH,
  generateKeyPairSync,
  getCipherInfo,
  getCiphers,
  getCurves,
  getHashes,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  sign,
  verify,
} from "node:crypto";
import type { JsonObject } from "../../../base/json.js";
import type { OpenCiphers } from "./ciphers.js";
import { deriveHkdf, derivePbkdf2, deriveScrypt } from "./derive.js";
import { generateRsaKey, type IsInterrupted } from "./generate-rsa.js";
import { describeKey, exportKey, keyWithOptions, readKey } from "./keys.js";
import { byteParameter, optionalText, optionalWhole, parameterText, wholeParameter } from "./parameters.js";

/** State shared by the calls of one instance. */
export interface CryptoSession {
  readonly ciphers: OpenCiphers;
  /** Checked between the steps of long computations. Everything else is bounded by its inputs to less than a second. */
  readonly isInterrupted: IsInterrupted;
}

type Operation = (parameters: JsonObject, data: Uint8Array, session: CryptoSession) => Uint8Array | string;

/** Longest output of a hash with variable length (SHAKE): 5 ms. */
const MAX_HASH_BYTES = 1024 * 1024;

const operations: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["names", (parameters) => JSON.stringify(names(parameterText(parameters, "of")))],
  ["constants", () => JSON.stringify(constants)],
  ["hash.check", (parameters) => checked(requestedHash(parameters))],
  ["hmac.check", (parameters) => checked(requestedHmac(parameters))],
  ["hash", (parameters, data) => requestedHash(parameters).update(data).digest()],
  ["hmac", (parameters, data) => requestedHmac(parameters).update(data).digest()],
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
  ["cipherInfo", (parameters) => JSON.stringify(getCipherInfo(parameterText(parameters, "algorithm")) ?? null)],
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
  session: CryptoSession,
): Uint8Array | string {
  if (operation.startsWith("cipher.")) return session.ciphers.run(operation, parameters, data);
  const run = operations.get(operation);
  if (run === undefined) throw new Error(`Unknown operation ${operation}`);
  return run(parameters, data, session);
}

function names(of: string): string[] {
  if (of === "hashes") return getHashes();
  return of === "curves" ? getCurves() : getCiphers();
}

function requestedHash(parameters: JsonObject) {
  const outputLength = optionalWhole(parameters, "outputLength", 0, MAX_HASH_BYTES);
  return createHash(parameterText(parameters, "algorithm"), outputLength === undefined ? {} : { outputLength });
}

function requestedHmac(parameters: JsonObject) {
  return createHmac(parameterText(parameters, "algorithm"), byteParameter(parameters, "key"));
}

/** Only creates the hash: Node rejects unknown algorithms before there is any data. */
function checked(_made: unknown): string {
  return "";
}

function verifies(parameters: JsonObject, data: Uint8Array): boolean {
  const key = keyWithOptions(parameters.key);
  return verify(optionalText(parameters, "algorithm"), data, key, byteParameter(parameters, "signature"));
}

function ecdhOf(parameters: JsonObject) {
  const ecdh = createECDH(parameterText(parameters, "curve"));
  ecdh.setPrivateKey(byteParameter(parameters, "privateKey"));
  return ecdh;
}

function generateEcdh(parameters: JsonObject): string {
  const ecdh = createECDH(parameterText(parameters, "curve"));
  const publicKey = ecdh.generateKeys("base64");
  return JSON.stringify({ publicKey, privateKey: ecdh.getPrivateKey("base64") });
}

function convertPoint(parameters: JsonObject): Buffer {
  const format = parameterText(parameters, "format") === "compressed" ? "compressed" : "uncompressed";
  const point = ECDH.convertKey(
    byteParameter(parameters, "publicKey"),
    parameterText(parameters, "curve"),
    undefined,
    undefined,
    format,
  );
  return Buffer.from(point);
}

function agree(parameters: JsonObject): Buffer {
  return diffieHellman({ privateKey: readKey(parameters.privateKey), publicKey: readKey(parameters.publicKey) });
}

function generatePair(parameters: JsonObject, _data: Uint8Array, { isInterrupted }: CryptoSession): string {
  const privateKeyEncoding = { type: "pkcs8", format: "pem" } as const;
  const publicKeyEncoding = { type: "spki", format: "pem" } as const;
  const encodings = { privateKeyEncoding, publicKeyEncoding };
  switch (parameterText(parameters, "type")) {
    case "rsa": {
      const bits = wholeParameter(parameters, "modulusLength", 512, 4_096);
      if (bits % 16 !== 0) throw new RangeError('The value of "modulusLength" must be a multiple of 16.');
      const exponent = optionalWhole(parameters, "publicExponent", 3, 2 ** 32 - 1) ?? 65_537;
      if (exponent % 2 === 0) throw new RangeError('The value of "publicExponent" must be odd.');
      const key = generateRsaKey(bits, BigInt(exponent), isInterrupted);
      const publicKey = createPublicKey(key).export(publicKeyEncoding);
      return JSON.stringify({ privateKey: key.export(privateKeyEncoding), publicKey });
    }
    case "ec":
      return JSON.stringify(
        generateKeyPairSync("ec", { namedCurve: parameterText(parameters, "namedCurve"), ...encodings }),
      );
    case "ed25519":
      return JSON.stringify(generateKeyPairSync("ed25519", encodings));
    case "ed448":
      return JSON.stringify(generateKeyPairSync("ed448", encodings));
    case "x25519":
      return JSON.stringify(generateKeyPairSync("x25519", encodings));
    case "x448":
      return JSON.stringify(generateKeyPairSync("x448", encodings));
    default:
      throw new Error("Key pairs can be generated for rsa, ec, ed25519, ed448, x25519 and x448.");
  }
}
