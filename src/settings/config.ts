import { join, resolve } from "node:path";
import { isLoggedAddresses, type LoggedAddresses } from "../base/logged-addresses.js";
import type { Network } from "../base/network.js";
import type { RootKeyHolder } from "../crypto/root-keys.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import type { FormulaId } from "../payments/contract/formula.js";
import { DOCUMENTED_POINTS, type RatePoints, readRatePoints } from "../rate-limits/rate-scope.js";
import type { TraceSettings } from "../telemetry/trace-settings.js";
import {
  readHostNames,
  readNetworks,
  readOrigins,
  readPaymentAddresses,
  readPublicUrl,
  readRedisUrl,
} from "./addresses.js";
import { type BucketSettings, readBuckets } from "./buckets.js";
import { ConfigError } from "./config-error.js";
import { readEgress } from "./egress.js";
import { LOG_LEVELS, type LogLevel } from "./groups/records.js";
import { type LogSinksConfig, readLogSinks } from "./log-sinks.js";
import { readMailFrom, readSmtpUrl } from "./mail.js";
import { type OpenIdConfig, readOpenId } from "./openid.js";
import { readProcesses } from "./processes.js";
import { readRootKeyHolder } from "./root-key-holder.js";
import { readSandbox, type SandboxConfig } from "./sandbox.js";
import { refuseEmptySettings, refuseUnknownNames } from "./setting-names.js";
import { type Environment, readOptional, readSecret, readSettingText, readWhole } from "./setting-values.js";
import type { OptionalName, SecretName, TextName, WholeName } from "./settings.js";
import { readTimeStamps, type TimeStampConfig } from "./time-stamps.js";
import { readTraces } from "./traces.js";

/** Everything an operator can set, read from the environment once and checked. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  /** Names under which the admin port answers, beside its address. */
  readonly adminNames: readonly string[];
  /** Where callers reach this server, without a slash at the end. Absent: where it listens. */
  readonly publicUrl: string | undefined;
  /** Processes that serve. */
  readonly processes: number;
  readonly dataDir: string;
  readonly rootKeyFile: string;
  readonly rootKeyHolder: RootKeyHolder;
  /** Absent: the embedded database. */
  readonly databaseUrl: Sensitive<string> | undefined;
  /** A role of its own for migrations. */
  readonly migrateDatabaseUrl: Sensitive<string> | undefined;
  readonly connections: number;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly logLevel: LogLevel;
  readonly bodyLimit: number;
  readonly auditRetentionDays: number;
  /** A directory, `s3://BUCKET/PREFIX` or `off`. */
  readonly logArchive: string | undefined;
  /** How much of client addresses log rows keep. */
  readonly auditClientAddresses: LoggedAddresses;
  /** The operator's data about card issuers. */
  readonly binTableFile: string | undefined;
  /** Addresses and hosts that tenants' requests may reach although they are not public, and those they may not. */
  readonly egress: EgressPolicy;
  /** Proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly Network[];
  /** Absent: requests are not counted. */
  readonly rateLimits: RatePoints | undefined;
  /** Address of the counters that replicas share. Absent: each counts on its own. */
  readonly redisUrl: Sensitive<string> | undefined;
  /** The mail server, with its password. Absent: messages are written to files. */
  readonly smtpUrl: Sensitive<string> | undefined;
  /** Sender of messages. Absent: no-reply at the host of the public URL. */
  readonly mailFrom: string | undefined;
  readonly logSinks: LogSinksConfig;
  readonly buckets: BucketSettings;
  /** Absent: logs are not stamped. */
  readonly timeStamps: TimeStampConfig | undefined;
  /** Absent: traces are not sent. */
  readonly traces: TraceSettings | undefined;
  readonly sandbox: SandboxConfig;
  /** Whether plain gRPC calls take the short way past Connect's handlers. No setting: tests compare the two ways. */
  readonly rpcFastPath: boolean;
  /** Milliseconds without a request after which a person's sign-in ends. */
  readonly signInIdleMs: number;
  /** Absent: people sign in by mailed links only. */
  readonly openId: OpenIdConfig | undefined;
  /** Where payment services are reached, without a slash at the end, in place of their public addresses. */
  readonly paymentAddresses: ReadonlyMap<FormulaId, string>;
}

/** @throws {ConfigError} for an unknown CLOAKROOM_ name, an empty setting or a wrong value. */
export function readConfig(environment: Environment): Config {
  refuseUnknownNames(environment);
  refuseEmptySettings(environment);
  const text = (name: TextName) => readSettingText(environment, name);
  const optional = (name: OptionalName) => readOptional(environment, name);
  const whole = (name: WholeName) => readWhole(environment, name);
  const secret = (name: SecretName) => readSecret(environment, `CLOAKROOM_${name}`);
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
    adminNames: readHostNames("ADMIN_NAMES", optional("ADMIN_NAMES") ?? ""),
    publicUrl: readPublicUrl(optional("PUBLIC_URL")),
    processes: readProcesses(text("PROCESSES"), { isEmbedded: databaseUrl === undefined, connections }),
    dataDir,
    rootKeyFile,
    rootKeyHolder: readRootKeyHolder(environment, rootKeyFile),
    databaseUrl,
    migrateDatabaseUrl,
    connections,
    tlsCertFile,
    tlsKeyFile,
    corsOrigins: readOrigins(text("CORS_ORIGINS")),
    logLevel: readLogLevel(text("LOG_LEVEL")),
    bodyLimit: whole("BODY_LIMIT_BYTES"),
    auditRetentionDays: whole("AUDIT_RETENTION_DAYS"),
    logArchive: optional("LOG_ARCHIVE"),
    auditClientAddresses: readLoggedAddresses(text("AUDIT_CLIENT_ADDRESSES")),
    binTableFile: optional("BIN_TABLE_FILE"),
    egress: readEgress(optional("EGRESS_ALLOW"), optional("EGRESS_DENY")),
    trustedProxies: readNetworks("TRUSTED_PROXIES", optional("TRUSTED_PROXIES") ?? ""),
    rateLimits: readRateLimits(optional("RATE_LIMITS")),
    redisUrl: readRedisUrl(secret("REDIS_URL")),
    smtpUrl: readSmtpUrl(secret("SMTP_URL")),
    mailFrom: readMailFrom(optional("MAIL_FROM")),
    logSinks: readLogSinks(environment),
    buckets: readBuckets(environment),
    timeStamps: readTimeStamps(environment),
    traces: readTraces(environment),
    sandbox: readSandbox(environment),
    rpcFastPath: true,
    signInIdleMs: whole("SIGN_IN_IDLE_MINUTES") * 60_000,
    openId: readOpenId(environment),
    paymentAddresses: readPaymentAddresses(optional("PAYMENT_ADDRESSES") ?? ""),
  };
}

function readLoggedAddresses(value: string): LoggedAddresses {
  if (isLoggedAddresses(value)) return value;
  throw new ConfigError(`CLOAKROOM_AUDIT_CLIENT_ADDRESSES must be full, truncated or none; it is "${value}".`);
}

function readDatabaseUrls(environment: Environment): Pick<Config, "databaseUrl" | "migrateDatabaseUrl"> {
  const databaseUrl = readSecret(environment, "DATABASE_URL");
  const migrateDatabaseUrl = readSecret(environment, "MIGRATE_DATABASE_URL");
  if (migrateDatabaseUrl && !databaseUrl) {
    throw new ConfigError(
      "MIGRATE_DATABASE_URL is set, but not DATABASE_URL: set it to the database to serve from, or leave both out for the embedded one.",
    );
  }
  return { databaseUrl, migrateDatabaseUrl };
}

function readTlsFiles(environment: Environment): Pick<Config, "tlsCertFile" | "tlsKeyFile"> {
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
