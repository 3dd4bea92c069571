import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import parseAddresses from "email-addresses";
import ipaddr from "ipaddr.js";
import type { Network } from "./base/network.js";
import type { RootKeyHolder } from "./crypto/root-keys.js";
import { Sensitive } from "./crypto/sensitive.js";
import { FORMULA_IDS, type FormulaId } from "./payments/formulas.js";
import { DOCUMENTED_POINTS, type RatePoints, readRatePoints } from "./rate-limits/rate-scope.js";
import { type RootKeyTexts, readRootKeyHolder } from "./root-key-holder.js";

/** The configuration is wrong. The message is one line for the operator and says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Everything an operator can set, read from the environment once and checked. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Where callers reach this server, without a slash at the end. Absent: where it listens. */
  readonly publicUrl: string | undefined;
  readonly dataDir: string;
  readonly rootKeyFile: string;
  readonly rootKeyHolder: RootKeyHolder;
  /** Absent: the embedded database. */
  readonly databaseUrl: Sensitive<string> | undefined;
  /** A role of its own for migrations. */
  readonly migrateDatabaseUrl: Sensitive<string> | undefined;
  readonly fastConnections: number;
  readonly slowConnections: number;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly logLevel: LogLevel;
  readonly bodyLimit: number;
  /** Milliseconds. */
  readonly requestTimeout: number;
  readonly logRetentionDays: number;
  readonly includedMonthlyActiveTokens: number;
  /** Addresses and hosts that tenants' requests may reach although they are not public, and those they may not. */
  readonly egressAllow: string | undefined;
  readonly egressDeny: string | undefined;
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly Network[];
  /** Absent: requests are not counted. */
  readonly rateLimits: RatePoints | undefined;
  /** Where replicas share their counters. Absent: each counts by itself. */
  readonly redisUrl: Sensitive<string> | undefined;
  /** The mail server, with its password. Absent: messages are written to files. */
  readonly smtpUrl: Sensitive<string> | undefined;
  /** Whom messages come from. Absent: no-reply at the host of the public URL. */
  readonly mailFrom: string | undefined;
  /** Threads that run tenant code. Absent: by the number of processors. */
  readonly sandboxThreads: number | undefined;
  /** Whether plain gRPC calls take the short way past Connect's handlers. */
  readonly rpcLane: boolean;
  /** Where payment services are reached, without a slash at the end, in place of their public addresses. */
  readonly paymentAddresses: ReadonlyMap<FormulaId, string>;
}

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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
  "LOG_LEVEL",
  "LOG_RETENTION_DAYS",
  "BODY_LIMIT_BYTES",
  "REQUEST_TIMEOUT_MS",
  "DB_POOL_FAST",
  "DB_POOL_SLOW",
  "INCLUDED_MONTHLY_ACTIVE_TOKENS",
  "EGRESS_ALLOW",
  "EGRESS_DENY",
  "SANDBOX_THREADS",
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
type Name = (typeof NAMES)[number];

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {ConfigError} for an unknown CLOAKROOM_ name or a wrong value. */
export function readConfig(environment: Environment): Config {
  refuseUnknownNames(environment);
  const text = (name: Name) => environment[`CLOAKROOM_${name}`] || undefined;
  const whole = (name: Name, byDefault: number, least: number, most: number) => {
    const value = text(name);
    if (value === undefined) return byDefault;
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    throw new ConfigError(`CLOAKROOM_${name} must be a whole number from ${least} to ${most}; it is "${value}".`);
  };
  const dataDir = resolve(text("DATA_DIR") ?? ".cloakroom");
  const rootKeyFile = resolve(text("ROOT_KEY_FILE") ?? join(dataDir, "root.key"));
  const tlsCertFile = text("TLS_CERT_FILE");
  const tlsKeyFile = text("TLS_KEY_FILE");
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    throw new ConfigError("Set both CLOAKROOM_TLS_CERT_FILE and CLOAKROOM_TLS_KEY_FILE, or neither.");
  }
  return {
    host: text("HOST") ?? "127.0.0.1",
    port: whole("PORT", 8080, 0, 65_535),
    adminHost: text("ADMIN_HOST") ?? "127.0.0.1",
    adminPort: whole("ADMIN_PORT", 9090, 0, 65_535),
    publicUrl: readPublicUrl(text("PUBLIC_URL")),
    dataDir,
    rootKeyFile,
    rootKeyHolder: holderOf({
      keyFile: rootKeyFile,
      transitUrl: text("TRANSIT_URL"),
      transitToken: readSecret(environment, "CLOAKROOM_TRANSIT_TOKEN"),
      transitRoleId: text("TRANSIT_ROLE_ID"),
      transitSecretId: readSecret(environment, "CLOAKROOM_TRANSIT_SECRET_ID"),
      transitNamespace: text("TRANSIT_NAMESPACE"),
      transitCaFile: text("TRANSIT_CA_FILE"),
      kmsKeyId: text("KMS_KEY_ID"),
    }),
    databaseUrl: readSecret(environment, "DATABASE_URL"),
    migrateDatabaseUrl: readSecret(environment, "MIGRATE_DATABASE_URL"),
    fastConnections: whole("DB_POOL_FAST", 8, 1, 100),
    slowConnections: whole("DB_POOL_SLOW", 4, 1, 100),
    tlsCertFile,
    tlsKeyFile,
    corsOrigins: readOrigins(text("CORS_ORIGINS") ?? "*"),
    logLevel: readLogLevel(text("LOG_LEVEL") ?? "info"),
    bodyLimit: whole("BODY_LIMIT_BYTES", 5 * 1024 * 1024, 1_024, 100 * 1024 * 1024),
    requestTimeout: whole("REQUEST_TIMEOUT_MS", 30_000, 1_000, 600_000),
    logRetentionDays: whole("LOG_RETENTION_DAYS", 365, 0, 36_500),
    includedMonthlyActiveTokens: whole("INCLUDED_MONTHLY_ACTIVE_TOKENS", 0, 0, 1_000_000_000_000),
    egressAllow: text("EGRESS_ALLOW"),
    egressDeny: text("EGRESS_DENY"),
    trustedProxies: readNetworks("TRUSTED_PROXIES", text("TRUSTED_PROXIES") ?? ""),
    rateLimits: readRateLimits(text("RATE_LIMITS")),
    redisUrl: readRedisUrl(environment),
    smtpUrl: readSmtpUrl(readSecret(environment, "CLOAKROOM_SMTP_URL")),
    mailFrom: readMailFrom(text("MAIL_FROM")),
    sandboxThreads: text("SANDBOX_THREADS") === undefined ? undefined : whole("SANDBOX_THREADS", 4, 1, 64),
    rpcLane: readSwitch("RPC_LANE", text("RPC_LANE") ?? "on"),
    paymentAddresses: readPaymentAddresses(text("PAYMENT_ADDRESSES") ?? ""),
  };
}

function holderOf(texts: RootKeyTexts): RootKeyHolder {
  const holder = readRootKeyHolder(texts);
  if (typeof holder === "string") throw new ConfigError(holder);
  return holder;
}

function readSwitch(name: Name, value: string): boolean {
  if (value === "on" || value === "off") return value === "on";
  throw new ConfigError(`CLOAKROOM_${name} must be on or off; it is "${value}".`);
}

function refuseUnknownNames(environment: Environment): void {
  for (const key of Object.keys(environment)) {
    if (!key.startsWith("CLOAKROOM_")) continue;
    const name = key.slice("CLOAKROOM_".length);
    if (NAMES.some((known) => known === name)) continue;
    const close = NAMES.find((known) => known.startsWith(name.slice(0, 4)));
    const hint = close ? ` Did you mean CLOAKROOM_${close}?` : "";
    throw new ConfigError(`${key} is no setting.${hint} docs/operations.md lists them all.`);
  }
}

/** Secrets come as themselves or as the name of a file that holds them (`..._FILE`). */
function readSecret(environment: Environment, name: string): Sensitive<string> | undefined {
  const file = environment[`${name}_FILE`];
  if (environment[name] && file) throw new ConfigError(`Set ${name} or ${name}_FILE, not both.`);
  if (environment[name]) return new Sensitive(environment[name]);
  if (!file) return undefined;
  try {
    return new Sensitive(readFileSync(file, "utf8").trim());
  } catch {
    throw new ConfigError(`${name}_FILE names a file that cannot be read: ${file}`);
  }
}

function readPublicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && url.search === "" && url.hash === "") {
    return text.replace(/\/+$/, "");
  }
  throw new ConfigError(`CLOAKROOM_PUBLIC_URL must be an address such as https://vault.example.com; it is "${text}".`);
}

/** `stripe-card=http://127.0.0.1:12111,adyen-card=...`: no tenant's field, or a tenant could send cards anywhere. */
function readPaymentAddresses(text: string): ReadonlyMap<FormulaId, string> {
  const entries = text.split(",").filter((entry) => entry.trim() !== "");
  return new Map(
    entries.map((entry): [FormulaId, string] => {
      const [name = "", address = ""] = entry.trim().split(/=(.*)/s);
      const formula = FORMULA_IDS.find((id) => id === name);
      if (formula && /^https?:$/.test(URL.canParse(address) ? new URL(address).protocol : "")) {
        return [formula, address.replace(/\/+$/, "")];
      }
      throw new ConfigError(
        `CLOAKROOM_PAYMENT_ADDRESSES must be entries such as stripe-card=https://stripe.example.com, separated by commas; "${entry}" is none.`,
      );
    }),
  );
}

/** The message does not repeat what it is: it holds a password. */
function readSmtpUrl(url: Sensitive<string> | undefined): Sensitive<string> | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.canParse(url.reveal()) ? new URL(url.reveal()) : undefined;
  if ((parsed?.protocol === "smtp:" || parsed?.protocol === "smtps:") && parsed.hostname !== "") return url;
  throw new ConfigError("CLOAKROOM_SMTP_URL must be an address such as smtps://user:password@mail.example.com:465.");
}

function readMailFrom(text: string | undefined): string | undefined {
  if (text === undefined || (!/\p{Cc}/u.test(text) && parseAddresses({ input: text, startAt: "mailbox" }))) return text;
  throw new ConfigError(
    `CLOAKROOM_MAIL_FROM must be an address such as Cloakroom <vault@example.com>; it is "${text}".`,
  );
}

function readOrigins(text: string): string[] {
  const origins = text.split(",").map((origin) => origin.trim());
  for (const origin of origins) {
    if (origin !== "*" && !(URL.canParse(origin) && new URL(origin).origin === origin)) {
      throw new ConfigError(
        `CLOAKROOM_CORS_ORIGINS must be * or origins such as https://shop.example.com, separated by commas; "${origin}" is none.`,
      );
    }
  }
  return origins;
}

function readNetworks(name: Name, list: string): Network[] {
  const entries = list.split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "").map((entry) => readNetwork(name, entry));
}

function readNetwork(name: Name, entry: string): Network {
  const isSingle = ipaddr.isValid(entry);
  if (!isSingle && !ipaddr.isValidCIDR(entry)) {
    throw new ConfigError(
      `CLOAKROOM_${name} must be addresses or networks such as 10.0.0.0/8, separated by commas; "${entry}" is none.`,
    );
  }
  const [address, bits] = isSingle ? [ipaddr.parse(entry), undefined] : ipaddr.parseCIDR(entry);
  const family = address.kind();
  return { address: address.toString(), prefix: bits ?? (family === "ipv4" ? 32 : 128), family };
}

function readRateLimits(text: string | undefined): RatePoints | undefined {
  if (text === undefined) return DOCUMENTED_POINTS;
  if (text === "off") return undefined;
  try {
    return readRatePoints(text);
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : "CLOAKROOM_RATE_LIMITS cannot be read.");
  }
}

function readRedisUrl(environment: Environment): Sensitive<string> | undefined {
  const url = readSecret(environment, "CLOAKROOM_REDIS_URL");
  if (url && !/^rediss?:\/\/.+/.test(url.reveal())) {
    throw new ConfigError("CLOAKROOM_REDIS_URL must be an address such as redis://valkey.example.com:6379.");
  }
  return url;
}

function readLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (!level) throw new ConfigError(`CLOAKROOM_LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}; it is "${text}".`);
  return level;
}
