import { readFileSync } from "node:fs";
import type { RootKeyHolder } from "../crypto/root-keys.js";
import type { TransitCredentials, TransitSettings } from "../crypto/transit-client.js";
import { ConfigError } from "./config-error.js";
import { type Environment, readOptional, readSecret } from "./setting-values.js";

const KEY_PATH = /^\/v1\/(.+)\/keys\/([A-Za-z0-9._-]+)$/;
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Chooses the holder of the root key: a configured KMS key or Transit key, otherwise the key file. If both are
 * configured, the KMS key is to replace the Transit key: see {@link requireOneHolder}.
 * @throws {ConfigError} if the settings conflict.
 */
export function readRootKeyHolder(environment: Environment, keyFile: string): RootKeyHolder {
  const keyId = readOptional(environment, "KMS_KEY_ID");
  const transit = readTransit(readTransitTexts(environment));
  if (keyId !== undefined) return { kind: "kms", keyId, former: transit };
  return transit ? { kind: "transit", settings: transit } : { kind: "file", path: keyFile };
}

/**
 * Rejects two holders, except in the command that moves the root key from one to the other.
 * @throws {ConfigError}
 */
export function requireOneHolder(holder: RootKeyHolder): void {
  if (holder.kind !== "kms" || !holder.former) return;
  throw new ConfigError(
    "Set CLOAKROOM_TRANSIT_URL or CLOAKROOM_KMS_KEY_ID, not both. Set both only to move the root key from Transit to KMS with cloakroom keys rotate --root.",
  );
}

/** The operator's settings of a key in Transit, as raw text from the environment. */
function readTransitTexts(environment: Environment) {
  return {
    transitUrl: readOptional(environment, "TRANSIT_URL"),
    transitToken: readSecret(environment, "CLOAKROOM_TRANSIT_TOKEN"),
    transitRoleId: readOptional(environment, "TRANSIT_ROLE_ID"),
    transitSecretId: readSecret(environment, "CLOAKROOM_TRANSIT_SECRET_ID"),
    transitNamespace: readOptional(environment, "TRANSIT_NAMESPACE"),
    transitCaFile: readOptional(environment, "TRANSIT_CA_FILE"),
  };
}

type TransitTexts = ReturnType<typeof readTransitTexts>;

function readTransit(texts: TransitTexts): TransitSettings | undefined {
  const { transitUrl } = texts;
  if (transitUrl === undefined) {
    refuseWithoutUrl(texts);
    return undefined;
  }
  const url = URL.canParse(transitUrl) ? new URL(transitUrl) : undefined;
  const [, mount, keyName] = KEY_PATH.exec(url?.pathname ?? "") ?? [];
  const isPlain = url?.protocol === "http:" && LOOPBACK.includes(url.hostname);
  if (!url || !mount || !keyName || url.username !== "" || (url.protocol !== "https:" && !isPlain)) {
    throw new ConfigError(
      "CLOAKROOM_TRANSIT_URL must be the https address of a key, such as https://vault.example.com:8200/v1/transit/keys/cloakroom (http only on this machine).",
    );
  }
  const credentials = readCredentials(texts);
  const ca = readCa(texts.transitCaFile);
  const { transitNamespace: namespace } = texts;
  return { origin: url.origin, mount, keyName, credentials, namespace, ca };
}

/**
 * These settings imply a key in Transit. Without this check, the server would create a key file and use it permanently.
 */
function refuseWithoutUrl(texts: TransitTexts): void {
  const set = Object.entries({
    CLOAKROOM_TRANSIT_TOKEN: texts.transitToken,
    CLOAKROOM_TRANSIT_ROLE_ID: texts.transitRoleId,
    CLOAKROOM_TRANSIT_SECRET_ID: texts.transitSecretId,
    CLOAKROOM_TRANSIT_NAMESPACE: texts.transitNamespace,
    CLOAKROOM_TRANSIT_CA_FILE: texts.transitCaFile,
  }).find(([, value]) => value !== undefined);
  if (!set) return;
  throw new ConfigError(
    `${set[0]} is set, but not CLOAKROOM_TRANSIT_URL: set it to the address of the root key in Transit, or remove both.`,
  );
}

function readCredentials({ transitToken, transitRoleId, transitSecretId }: TransitTexts): TransitCredentials {
  if (transitToken && !transitRoleId && !transitSecretId) return { kind: "token", token: transitToken };
  if (!transitToken && transitRoleId && transitSecretId) {
    return { kind: "approle", roleId: transitRoleId, secretId: transitSecretId };
  }
  throw new ConfigError(
    "With CLOAKROOM_TRANSIT_URL, set CLOAKROOM_TRANSIT_TOKEN, or CLOAKROOM_TRANSIT_ROLE_ID and CLOAKROOM_TRANSIT_SECRET_ID.",
  );
}

function readCa(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new ConfigError(`CLOAKROOM_TRANSIT_CA_FILE names a file that cannot be read: ${file}`);
  }
}
