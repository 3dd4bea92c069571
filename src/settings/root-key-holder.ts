import { readFileSync } from "node:fs";
import type { RootKeyHolder } from "../crypto/root-keys.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { TransitCredentials, TransitSettings } from "../crypto/transit-client.js";
import { ConfigError } from "./environment.js";

/** What the operator set of the root key, as it stands in the environment. */
export interface RootKeyTexts {
  readonly keyFile: string;
  readonly transitUrl: string | undefined;
  readonly transitToken: Sensitive<string> | undefined;
  readonly transitRoleId: string | undefined;
  readonly transitSecretId: Sensitive<string> | undefined;
  readonly transitNamespace: string | undefined;
  readonly transitCaFile: string | undefined;
  readonly kmsKeyId: string | undefined;
}

const KEY_PATH = /^\/v1\/(.+)\/keys\/([A-Za-z0-9._-]+)$/;
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Decides who holds the root key: a KMS key or a Transit key where one is named, else the key file. Where both are named,
 * the KMS key is to replace the other: see {@link requireOneHolder}.
 * @throws {ConfigError} where the settings do not fit together.
 */
export function readRootKeyHolder(texts: RootKeyTexts): RootKeyHolder {
  const { keyFile, kmsKeyId } = texts;
  const transit = readTransit(texts);
  if (kmsKeyId !== undefined) return { kind: "kms", keyId: kmsKeyId, former: transit };
  return transit ? { kind: "transit", settings: transit } : { kind: "file", path: keyFile };
}

/**
 * Only whoever replaces the root key may name two holders: the one that it comes from, and the one that it goes to.
 * @throws {ConfigError}
 */
export function requireOneHolder(holder: RootKeyHolder): void {
  if (holder.kind !== "kms" || !holder.former) return;
  throw new ConfigError(
    "Set CLOAKROOM_TRANSIT_URL or CLOAKROOM_KMS_KEY_ID, not both: one root key wraps. Only to move from the Transit key to the KMS key, with cloakroom keys rotate --root, are both set.",
  );
}

function readTransit(texts: RootKeyTexts): TransitSettings | undefined {
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

/** Whoever set any of these means the key to be in Transit: one that is made in a file instead would be used for good. */
function refuseWithoutUrl(texts: RootKeyTexts): void {
  const set = Object.entries({
    CLOAKROOM_TRANSIT_TOKEN: texts.transitToken,
    CLOAKROOM_TRANSIT_ROLE_ID: texts.transitRoleId,
    CLOAKROOM_TRANSIT_SECRET_ID: texts.transitSecretId,
    CLOAKROOM_TRANSIT_NAMESPACE: texts.transitNamespace,
    CLOAKROOM_TRANSIT_CA_FILE: texts.transitCaFile,
  }).find(([, value]) => value !== undefined);
  if (!set) return;
  throw new ConfigError(
    `${set[0]} is set, but not CLOAKROOM_TRANSIT_URL: set it to the address of the root key in Transit, or leave both out.`,
  );
}

function readCredentials({ transitToken, transitRoleId, transitSecretId }: RootKeyTexts): TransitCredentials {
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
