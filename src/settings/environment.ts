import { readFileSync } from "node:fs";
import { Sensitive } from "../crypto/sensitive.js";

/** The configuration is wrong. The message is one line for the operator and says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Names without their prefix, as the operator's guide lists them. */
export const NAMES = [
  "HOST",
  "PORT",
  "ADMIN_HOST",
  "ADMIN_PORT",
  "PUBLIC_URL",
  "DATA_DIR",
  "ROOT_KEY_FILE",
  "TRANSIT_URL",
  "TRANSIT_TOKEN",
  "TRANSIT_TOKEN_FILE",
  "TRANSIT_ROLE_ID",
  "TRANSIT_SECRET_ID",
  "TRANSIT_SECRET_ID_FILE",
  "TRANSIT_NAMESPACE",
  "TRANSIT_CA_FILE",
  "KMS_KEY_ID",
  "TLS_CERT_FILE",
  "TLS_KEY_FILE",
  "CORS_ORIGINS",
  "PROCESSES",
  "LOG_LEVEL",
  "LOG_RETENTION_DAYS",
  "BODY_LIMIT_BYTES",
  "REQUEST_TIMEOUT_MS",
  "DB_CONNECTIONS",
  "INCLUDED_MONTHLY_ACTIVE_TOKENS",
  "BIN_TABLE_FILE",
  "EGRESS_ALLOW",
  "EGRESS_DENY",
  "SANDBOX_THREADS",
  "SANDBOX_TIMEOUT_MS",
  "SANDBOX_MEMORY_MB",
  "SANDBOX_QUEUE",
  "SANDBOX_QUEUE_WAIT_MS",
  "PAYMENT_ADDRESSES",
  "RPC_LANE",
  "TRUSTED_PROXIES",
  "RATE_LIMITS",
  "REDIS_URL",
  "REDIS_URL_FILE",
  "SMTP_URL",
  "SMTP_URL_FILE",
  "MAIL_FROM",
] as const;
export type Name = (typeof NAMES)[number];

export type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {ConfigError} for a CLOAKROOM_ name that is none of {@link NAMES}. */
export function refuseUnknownNames(environment: Environment): void {
  const keys = Object.keys(environment).filter((key) => key.startsWith("CLOAKROOM_"));
  for (const key of keys) {
    if (!isServiceLink(key, environment[key])) continue;
    throw new ConfigError(
      `${key} is no setting: Kubernetes sets it for a Service of this name. Set enableServiceLinks: false in the pod's spec, or name the Service otherwise.`,
    );
  }
  for (const key of keys) {
    const name = key.slice("CLOAKROOM_".length);
    if (NAMES.some((known) => known === name)) continue;
    const close = NAMES.find((known) => known.startsWith(name.slice(0, 4)));
    const hint = close ? ` Did you mean CLOAKROOM_${close}?` : "";
    throw new ConfigError(`${key} is no setting.${hint} docs/operations.md lists them all.`);
  }
}

/** Settings whose names are not ours alone. */
const SHARED_NAMES = [
  "DATABASE_URL",
  "DATABASE_URL_FILE",
  "MIGRATE_DATABASE_URL",
  "MIGRATE_DATABASE_URL_FILE",
] as const;

/**
 * An empty setting is a mistake, such as a secret that was not mounted. As "not set", an empty DATABASE_URL would start
 * an embedded database in place of the operator's.
 * @throws {ConfigError}
 */
export function refuseEmptySettings(environment: Environment): void {
  const ours = Object.keys(environment).filter((key) => key.startsWith("CLOAKROOM_"));
  for (const key of [...SHARED_NAMES, ...ours]) {
    if (environment[key]?.trim() !== "") continue;
    const without = key.startsWith("DATABASE_URL") ? "to use the embedded database" : "to use its default";
    throw new ConfigError(`${key} is set, but empty. Give it a value, or remove it ${without}.`);
  }
}

/** What Kubernetes gives each container of a namespace for a Service whose name begins like our settings. */
function isServiceLink(key: string, value: string | undefined): boolean {
  if (/_PORT$/.test(key) && /^(tcp|udp|sctp):\/\//.test(value ?? "")) return true;
  return /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(key);
}

/** Secrets come as themselves or as the name of a file that holds them (`..._FILE`). */
export function readSecret(environment: Environment, name: string): Sensitive<string> | undefined {
  const file = environment[`${name}_FILE`];
  if (environment[name] && file) throw new ConfigError(`Set ${name} or ${name}_FILE, not both.`);
  if (environment[name]) return new Sensitive(environment[name]);
  if (!file) return undefined;
  const secret = readSecretFile(name, file);
  if (secret === "") throw new ConfigError(`${name}_FILE names an empty file: ${file}`);
  return new Sensitive(secret);
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new ConfigError(`${name}_FILE names a file that cannot be read: ${file}`);
  }
}

/** The whole number that a setting is. */
export function readWhole(
  environment: Environment,
  name: Name,
  { byDefault, least, most }: { readonly byDefault: number; readonly least: number; readonly most: number },
): number {
  const value = environment[`CLOAKROOM_${name}`];
  if (value === undefined) return byDefault;
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= least && number <= most) return number;
  throw new ConfigError(`CLOAKROOM_${name} must be a whole number from ${least} to ${most}; it is "${value}".`);
}

export function readSwitch(name: Name, value: string): boolean {
  if (value === "on" || value === "off") return value === "on";
  throw new ConfigError(`CLOAKROOM_${name} must be on or off; it is "${value}".`);
}
