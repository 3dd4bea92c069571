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
      return createPrivateKey(material(spec));
    default:
      return createPublicKey(material(spec));
  }
}

function material(spec: JsonObject): Parameters<typeof createPrivateKey>[0] & Parameters<typeof createPublicKey>[0] {
  if (isJsonObject(spec.jwk)) return { key: jsonWebKey(spec.jwk), format: "jwk" };
  if (spec.der !== undefined) {
    const type = oneOf(spec, "derType", ["pkcs1", "spki"] as const);
    return { key: bytesOf(spec, "der"), format: "der", type: type ?? "spki" };
  }
  const pem = textOf(spec, "pem");
  // How long an encrypted key takes to open is written in the key, and nothing could interrupt it.
  if (/ENCRYPTED/.test(pem)) throw new Error("Keys with a passphrase are not supported here.");
  return { key: pem, format: "pem" };
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
  if (key.type === "private") {
    const type = oneOf(parameters, "type", ["pkcs1", "pkcs8", "sec1"] as const) ?? "pkcs8";
    return key.export({ format, type });
  }
  return key.export({ format, type: oneOf(parameters, "type", ["pkcs1", "spki"] as const) ?? "spki" });
}

function oneOf<T extends string>(parameters: JsonObject, name: string, known: readonly T[]): T | undefined {
  const given = optionalText(parameters, name);
  if (given === undefined) return undefined;
  const found = known.find((candidate) => candidate === given);
  if (found === undefined) throw new TypeError(`The argument "${name}" must be one of: ${known.join(", ")}.`);
  return found;
}
