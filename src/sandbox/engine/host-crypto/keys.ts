import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type JsonWebKey,
  type KeyObject,
  type SigningOptions,
} from "node:crypto";
import { isJsonObject, type Json, type JsonObject } from "../../../base/json.js";
import { requireBoundedDer } from "./asn1-bounds.js";
import { byteParameter, optionalText, optionalWhole, parameterText } from "./parameters.js";
import { readPem } from "./pem.js";

/** RSA, DSA and Diffie-Hellman numbers of a key that signs or decrypts: 85 ms for the worst key of this size. */
const MAX_PRIVATE_BITS = 4_096;
/** Those of a key that verifies or encrypts: 2 ms. OpenSSL bounds the exponents of such keys to 64 bits. */
const MAX_PUBLIC_BITS = 8_192;

/** Those of Node.js v16. Others may take seconds for a signature (SLH-DSA: 2.3 s). */
const KEY_TYPES: readonly (string | undefined)[] = [
  "rsa",
  "rsa-pss",
  "dsa",
  "dh",
  "ec",
  "ed25519",
  "ed448",
  "x25519",
  "x448",
];

const JWK_TYPES: readonly (Json | undefined)[] = ["RSA", "EC", "OKP"];

/** Parses a key in the guest's form: PEM, DER, JWK, or a secret. @throws {RangeError} for keys that are too large. */
export function readKey(spec: Json | undefined): KeyObject {
  if (!isJsonObject(spec)) throw new TypeError('The "key" argument is missing.');
  switch (parameterText(spec, "role")) {
    case "secret":
      return createSecretKey(byteParameter(spec, "secret"));
    case "private":
      return ofKnownType(privateKey(spec));
    default:
      return ofKnownType(publicKey(spec));
  }
}

function ofKnownType(key: KeyObject): KeyObject {
  if (!KEY_TYPES.includes(key.asymmetricKeyType)) {
    throw new TypeError(`Keys of type ${key.asymmetricKeyType} are not supported here.`);
  }
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const most = key.type === "private" ? MAX_PRIVATE_BITS : MAX_PUBLIC_BITS;
  if (modulusLength > most) throw new RangeError(`A key may have numbers of at most ${most} bits here.`);
  return key;
}

function privateKey(spec: JsonObject): KeyObject {
  if (isJsonObject(spec.jwk)) return createPrivateKey({ key: jsonWebKey(spec.jwk, MAX_PRIVATE_BITS), format: "jwk" });
  if (spec.der === undefined) return createPrivateKey(pemOf(spec, "private"));
  const type = oneOf(spec, "derType", ["pkcs1", "pkcs8", "sec1"] as const) ?? "pkcs8";
  return createPrivateKey({ key: derOf(spec, MAX_PRIVATE_BITS), format: "der", type });
}

/** For a private key, Node derives the public one. */
function publicKey(spec: JsonObject): KeyObject {
  if (isJsonObject(spec.jwk)) return createPublicKey({ key: jsonWebKey(spec.jwk, MAX_PUBLIC_BITS), format: "jwk" });
  if (spec.der === undefined) return createPublicKey(pemOf(spec, "public"));
  const type = oneOf(spec, "derType", ["pkcs1", "spki", "pkcs8", "sec1"] as const) ?? "spki";
  if (type === "pkcs8" || type === "sec1") return createPublicKey(privateKey(spec));
  return createPublicKey({ key: derOf(spec, MAX_PUBLIC_BITS), format: "der", type });
}

function derOf(spec: JsonObject, maxBits: number): Buffer {
  const der = byteParameter(spec, "der");
  requireBoundedDer(der, maxBits);
  return der;
}

/** The text with the one block that Node would read, after its numbers were checked. */
function pemOf(spec: JsonObject, role: "private" | "public"): string {
  const block = readPem(parameterText(spec, "pem"), role);
  // Reading a certificate computes nothing. It has more than numbers, so its key is checked after reading.
  if (block.label !== "CERTIFICATE") {
    requireBoundedDer(block.der, block.isPrivate ? MAX_PRIVATE_BITS : MAX_PUBLIC_BITS);
  }
  return block.text;
}

/** Base64url has 6 bits in a character. */
function jsonWebKey(jwk: JsonObject, maxBits: number): JsonWebKey {
  const texts = Object.entries(jwk).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  if (!JWK_TYPES.includes(jwk.kty)) throw new TypeError("The kty of a JWK must be RSA, EC or OKP here.");
  if (texts.some(([, text]) => text.length > Math.ceil(maxBits / 6) + 4)) {
    throw new RangeError(`A key may have numbers of at most ${maxBits} bits here.`);
  }
  return Object.fromEntries(texts);
}

/** A key with its padding and hash options, for signatures and asymmetric encryption. */
export function keyWithOptions(spec: Json | undefined) {
  const key = readKey(spec);
  const options = isJsonObject(spec) ? spec : {};
  const signing: SigningOptions = {};
  const padding = optionalWhole(options, "padding", 0, 10);
  if (padding !== undefined) signing.padding = padding;
  const saltLength = optionalWhole(options, "saltLength", -10, 1_024);
  if (saltLength !== undefined) signing.saltLength = saltLength;
  const dsaEncoding = oneOf(options, "dsaEncoding", ["der", "ieee-p1363"] as const);
  if (dsaEncoding !== undefined) signing.dsaEncoding = dsaEncoding;
  const oaepHash = optionalText(options, "oaepHash");
  const oaepLabel = options.oaepLabel === undefined ? {} : { oaepLabel: byteParameter(options, "oaepLabel") };
  return { key, ...signing, ...(oaepHash === undefined ? {} : { oaepHash }), ...oaepLabel };
}

/** The public properties of a `KeyObject`. */
export function describeKey(key: KeyObject): JsonObject {
  if (key.type === "secret") return { symmetricKeySize: key.symmetricKeySize ?? 0 };
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {};
  const details: JsonObject = {};
  if (modulusLength !== undefined) details.modulusLength = modulusLength;
  if (namedCurve !== undefined) details.namedCurve = namedCurve;
  return { asymmetricKeyType: key.asymmetricKeyType ?? "", asymmetricKeyDetails: details };
}

export function exportKey(key: KeyObject, parameters: JsonObject): Buffer | string {
  const format = oneOf(parameters, "format", ["pem", "der", "jwk"] as const) ?? "pem";
  if (format === "jwk") return JSON.stringify(key.export({ format }));
  const type =
    key.type === "private"
      ? (oneOf(parameters, "type", ["pkcs1", "pkcs8", "sec1"] as const) ?? "pkcs8")
      : (oneOf(parameters, "type", ["pkcs1", "spki"] as const) ?? "spki");
  return format === "pem" ? key.export({ format, type }) : key.export({ format, type });
}

function oneOf<T extends string>(parameters: JsonObject, name: string, known: readonly T[]): T | undefined {
  const given = optionalText(parameters, name);
  if (given === undefined) return undefined;
  const found = known.find((candidate) => candidate === given);
  if (found === undefined) throw new TypeError(`The argument "${name}" must be one of: ${known.join(", ")}.`);
  return found;
}
