import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type JsonWebKey,
  type KeyObject,
  type SigningOptions,
} from "node:crypto";
import { isJsonObject, type Json, type JsonObject } from "../../../base/json.js";
import { bytesOf, optionalText, optionalWhole, textOf } from "./parameters.js";

/** Reads a key as the guest describes it: PEM, DER, JWK, or a secret. */
export function readKey(spec: Json | undefined): KeyObject {
  if (!isJsonObject(spec)) throw new TypeError('The "key" argument is missing.');
  switch (textOf(spec, "role")) {
    case "secret":
      return createSecretKey(bytesOf(spec, "secret"));
    case "private":
      return privateKey(spec);
    default:
      return publicKey(spec);
  }
}

function privateKey(spec: JsonObject): KeyObject {
  if (isJsonObject(spec.jwk)) return createPrivateKey({ key: jsonWebKey(spec.jwk), format: "jwk" });
  if (spec.der === undefined) return createPrivateKey(pemOf(spec));
  const type = oneOf(spec, "derType", ["pkcs1", "pkcs8", "sec1"] as const) ?? "pkcs8";
  return createPrivateKey({ key: bytesOf(spec, "der"), format: "der", type });
}

/** Node makes the public key of a private one where a public key is wanted. */
function publicKey(spec: JsonObject): KeyObject {
  if (isJsonObject(spec.jwk)) return createPublicKey({ key: jsonWebKey(spec.jwk), format: "jwk" });
  if (spec.der === undefined) return createPublicKey(pemOf(spec));
  const type = oneOf(spec, "derType", ["pkcs1", "spki", "pkcs8", "sec1"] as const) ?? "spki";
  if (type === "pkcs8" || type === "sec1") return createPublicKey(privateKey(spec));
  return createPublicKey({ key: bytesOf(spec, "der"), format: "der", type });
}

/** How long an encrypted key takes to open is written in the key, and nothing could interrupt it. */
function pemOf(spec: JsonObject): string {
  const pem = textOf(spec, "pem");
  if (pem.includes("ENCRYPTED")) throw new Error("Keys with a passphrase are not supported here.");
  return pem;
}

function jsonWebKey(jwk: JsonObject): JsonWebKey {
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => typeof value === "string"));
}

/** A key with the padding and hashes that came with it, for signatures and asymmetric encryption. */
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
  const oaepLabel = options.oaepLabel === undefined ? {} : { oaepLabel: bytesOf(options, "oaepLabel") };
  return { key, ...signing, ...(oaepHash === undefined ? {} : { oaepHash }), ...oaepLabel };
}

/** What `KeyObject` shows of itself. */
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
