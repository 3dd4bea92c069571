import { join, resolve } from "node:path";
import { isLoggedAddresses, type LoggedAddresses } from "../base/logged-addresses.js";
import { DOCUMENTED_POINTS, type RatePoints, readRatePoints } from "../rate-limits/rate-scope.js";
import {
  readHostNames,
  readNetworks,
  readOrigins,
  readPaymentAddresses,
  readPublicUrl,
  readRedisUrl,
} from "./addresses.js";
import { readBuckets } from "./buckets.js";
import { ConfigError } from "./config-error.js";
import { readEgress } from "./egress.js";
import { LOG_LEVELS, type LogLevel } from "./groups/records.js";
import { readLogSinks } from "./log-sinks.js";
import { readMailFrom, readSmtpUrl } from "./mail.js";
import { readOpenId } from "./openid.js";
import { readProcesses } from "./processes.js";
import { readRootKeyHolder } from "./root-key-holder.js";
import { readSandbox } from "./sandbox.js";
import { refuseEmptySettings, refuseUnknownNames } from "./setting-names.js";
import { type Environment, readOptional, readSecret, readSettingText, readWhole } from "./setting-values.js";
import type { OptionalName, SecretName, TextName, WholeName } from "./settings.js";
import { readTimeStamps } from "./time-stamps.js";
import { readTraces } from "./traces.js";

/** Everything an operator can set, read from the environment once and checked. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/** @throws {ConfigError} for an unknown CLOAKROOM_ name, an empty setting or a wrong value. */
export function readConfig(environment: Environment) {
  refuseUnknownNames(environment);
  refuseEmptySettings(environment);
  const { text, optional, whole, secret } = readers(environment);
  const dataDir = resolve(text("DATA_DIR"));
  const rootKeyFile = resolve(optional("ROOT_KEY_FILE") ?? join(dataDir, "root.key"));
  const { tlsCertFile, tlsKeyFile } = readTlsFiles(environment);
  const { databaseUrl, migrateDatabaseUrl } = readDatabaseUrls(environment);
  const connections = whole("DB_CONNECTIONS");
  return {
    host: text("HOST"),
    port: whole("PORT"),
    adminHost: text("ADMIN_HOST"),
    adminPort: whole("ADMIN_PORT"),
    /** Names under which the admin port answers, beside its address. */
    adminNames: readHostNames("ADMIN_NAMES", optional("ADMIN_NAMES") ?? ""),
    /** Where callers reach this server, without a slash at the end. Absent: where it listens. */
    publicUrl: readPublicUrl(optional("PUBLIC_URL")),
    /** Processes that serve. */
    processes: readProcesses(text("PROCESSES"), { isEmbedded: databaseUrl === undefined, connections }),
    dataDir,
    rootKeyFile,
    rootKeyHolder: readRootKeyHolder(environment, rootKeyFile),
    /** Absent: the embedded database. */
    databaseUrl,
    /** A role of its own for migrations. */
    migrateDatabaseUrl,
    connections,
    tlsCertFile,
    tlsKeyFile,
    corsOrigins: readOrigins(text("CORS_ORIGINS")),
    bodyLimit: whole("BODY_LIMIT_BYTES"),
    ...readRecords(environment),
    /** The operator's data about card issuers. */
    binTableFile: optional("BIN_TABLE_FILE"),
    /** Addresses and hosts that tenants' requests may reach although they are not public, and those they may not. */
    egress: readEgress(optional("EGRESS_ALLOW"), optional("EGRESS_DENY")),
    /** Proxies whose X-Forwarded-For is believed. */
    trustedProxies: readNetworks("TRUSTED_PROXIES", optional("TRUSTED_PROXIES") ?? ""),
    /** Absent: requests are not counted. */
    rateLimits: readRateLimits(optional("RATE_LIMITS")),
    /** Address of the counters that replicas share. Absent: each counts on its own. */
    redisUrl: readRedisUrl(secret("REDIS_URL")),
    sandbox: readSandbox(environment),
    /** Whether plain gRPC calls take the short way past Connect's handlers. No setting: tests compare the two ways. */
    rpcFastPath: true,
    /** Milliseconds without a request after which a person's sign-in ends. */
    signInIdleMs: whole("SIGN_IN_IDLE_MINUTES") * 60_000,
    /** Absent: people sign in by mailed links only. */
    openId: readOpenId(environment),
    /** Where payment services are reached, without a slash at the end, in place of their public addresses. */
    paymentAddresses: readPaymentAddresses(optional("PAYMENT_ADDRESSES") ?? ""),
  };
}

/** What the server records and sends. */
function readRecords(environment: Environment) {
  const { text, optional, whole, secret } = readers(environment);
  return {
    logLevel: readLogLevel(text("LOG_LEVEL")),
    auditRetentionDays: whole("AUDIT_RETENTION_DAYS"),
    /** A directory, `s3://BUCKET/PREFIX` or `off`. */
    logArchive: optional("LOG_ARCHIVE"),
    /** How much of client addresses log rows keep. */
    auditClientAddresses: readLoggedAddresses(text("AUDIT_CLIENT_ADDRESSES")),
    /** The mail server, with its password. Absent: messages are written to files. */
    smtpUrl: readSmtpUrl(secret("SMTP_URL")),
    /** Sender of messages. Absent: no-reply at the host of the public URL. */
    mailFrom: readMailFrom(optional("MAIL_FROM")),
    logSinks: readLogSinks(environment),
    buckets: readBuckets(environment),
    /** Absent: logs are not stamped. */
    timeStamps: readTimeStamps(environment),
    /** Absent: traces are not sent. */
    traces: readTraces(environment),
  };
}

function readers(environment: Environment) {
  return {
    text: (name: TextName) => readSettingText(environment, name),
    optional: (name: OptionalName) => readOptional(environment, name),
    whole: (name: WholeName) => readWhole(environment, name),
    secret: (name: SecretName) => readSecret(environment, `CLOAKROOM_${name}`),
  };
}

function readLoggedAddresses(value: string): LoggedAddresses {
  if (isLoggedAddresses(value)) return value;
  throw new ConfigError(`CLOAKROOM_AUDIT_CLIENT_ADDRESSES must be full, truncated or none; it is "${value}".`);
}

function readDatabaseUrls(environment: Environment) {
  const databaseUrl = readSecret(environment, "DATABASE_URL");
  const migrateDatabaseUrl = readSecret(environment, "MIGRATE_DATABASE_URL");
  if (migrateDatabaseUrl && !databaseUrl) {
    throw new ConfigError(
      "MIGRATE_DATABASE_URL is set, but not DATABASE_URL: set it to the database to serve from, or leave both out for the embedded one.",
    );
  }
  return { databaseUrl, migrateDatabaseUrl };
}

function readTlsFiles(environment: Environment) {
  const tlsCertFile = readOptional(environment, "TLS_CERT_FILE");
  const tlsKeyFile = readOptional(environment, "TLS_KEY_FILE");
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    throw new ConfigError("Set both CLOAKROOM_TLS_CERT_FILE and CLOAKROOM_TLS_KEY_FILE, or neither.");
  }
  return { tlsCertFile, tlsKeyFile };
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

function readLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (!level) throw new ConfigError(`CLOAKROOM_LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}; it is "${text}".`);
  return level;
}
