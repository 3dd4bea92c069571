import { DOCUMENTED_POINTS, WINDOW_SECONDS } from "../rate-limits/rate-scope.js";

/** A text with a default. `format` says what values look like. */
interface TextSetting {
  readonly kind: "text";
  readonly format: string;
  readonly byDefault: string;
  readonly meaning: string;
}

/** A text that may be absent. `otherwise` describes the effect of its absence. */
interface OptionalSetting {
  readonly kind: "optional";
  readonly format: string;
  readonly otherwise: string;
  readonly meaning: string;
}

/** A password, token or address that contains one. It can also come as a file, named by the same variable with `_FILE`. */
interface SecretSetting {
  readonly kind: "secret";
  readonly format: string;
  readonly otherwise: string;
  readonly meaning: string;
}

/** A whole number within inclusive bounds. */
interface WholeSetting {
  readonly kind: "whole";
  readonly byDefault: number;
  readonly least: number;
  readonly most: number;
  readonly meaning: string;
}

/** A whole number that may be absent. */
interface OptionalWholeSetting {
  readonly kind: "optional_whole";
  readonly otherwise: string;
  readonly least: number;
  readonly most: number;
  readonly meaning: string;
}

export type Setting = TextSetting | OptionalSetting | SecretSetting | WholeSetting | OptionalWholeSetting;

const text = (format: string, byDefault: string, meaning: string): TextSetting => ({
  kind: "text",
  format,
  byDefault,
  meaning,
});
const optional = (format: string, otherwise: string, meaning: string): OptionalSetting => ({
  kind: "optional",
  format,
  otherwise,
  meaning,
});
const secret = (format: string, otherwise: string, meaning: string): SecretSetting => ({
  kind: "secret",
  format,
  otherwise,
  meaning,
});
const whole = (byDefault: number, [least, most]: readonly [number, number], meaning: string): WholeSetting => ({
  kind: "whole",
  byDefault,
  least,
  most,
  meaning,
});
const optionalWhole = (
  otherwise: string,
  [least, most]: readonly [number, number],
  meaning: string,
): OptionalWholeSetting => ({ kind: "optional_whole", otherwise, least, most, meaning });

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const MB = 1024 * 1024;
const PORTS = [0, 65_535] as const;

const LISTENING = {
  HOST: text("IP address or host name", "127.0.0.1", "Address that the API listens on."),
  PORT: whole(8080, PORTS, "Port of the API, for all protocols. 0 picks a free port."),
  PUBLIC_URL: optional(
    "`http` or `https` URL",
    "the address that the server listens on",
    "Address under which callers reach this server. Links in mails, `webhook_url` and approval pages start with it.",
  ),
  ADMIN_HOST: text("IP address or host name", "127.0.0.1", "Address of the admin port."),
  ADMIN_PORT: whole(9464, PORTS, "Port that serves `/metrics`, `/healthz` and `/readyz` to operators."),
  TLS_CERT_FILE: optional(
    "file",
    "clear text",
    "Certificate chain of the API port, PEM. Needs `CLOAKROOM_TLS_KEY_FILE`.",
  ),
  TLS_KEY_FILE: optional("file", "clear text", "Private key of that certificate, PEM."),
  TRUSTED_PROXIES: optional(
    "addresses and networks, separated by commas",
    "none",
    "Load balancers whose `X-Forwarded-For` is believed. The header is read from the right.",
  ),
  PROCESSES: text(
    "`auto` or a whole number from 1 to 64",
    "1",
    "Processes that serve requests. `auto` starts one for each processor that the server may use.",
  ),
  CORS_ORIGINS: text(
    "`*`, or origins separated by commas",
    "*",
    "Origins whose pages may call the API. Browsers never send cookies with these calls.",
  ),
};

/** These names have no prefix, because other programs read the same variables. */
export const DATABASE_SETTINGS = {
  DATABASE_URL: secret(
    "`postgres://` URL",
    "the embedded database",
    "PostgreSQL 15 to 18 that holds the vault. Run `cloakroom init` once before the first start.",
  ),
  MIGRATE_DATABASE_URL: secret(
    "`postgres://` URL",
    "`DATABASE_URL`",
    "Login of its own for migrations. It owns the tables. Needs `DATABASE_URL`.",
  ),
};

const DATABASE = {
  DATA_DIR: text(
    "directory",
    ".cloakroom",
    "Directory of the embedded database, of the root key file, and of mails while no mail server is set.",
  ),
  DB_CONNECTIONS: whole(
    16,
    [3, 400],
    "Connections of a process for transactions: half for creating, reading and using tokens, a quarter for other short transactions, a quarter for lists, counts and sweeps. Three more connections serve leases, health checks and jobs.",
  ),
};

const ROOT_KEY = {
  ROOT_KEY_FILE: optional(
    "file",
    "`root.key` in the data directory",
    "File that holds the root key. Unused with Transit or KMS.",
  ),
  TRANSIT_URL: optional(
    "`https` URL",
    "the root key is in its file",
    "Root key in Vault or OpenBao Transit, as the key's API address: `https://vault.example.com:8200/v1/transit/keys/cloakroom`. `http` is accepted on the same machine only.",
  ),
  TRANSIT_TOKEN: secret("token", "AppRole", "Token for Transit."),
  TRANSIT_ROLE_ID: optional("AppRole id", "token", "AppRole to log in to Transit with, in place of a token."),
  TRANSIT_SECRET_ID: secret("AppRole secret", "token", "Secret of that AppRole."),
  TRANSIT_NAMESPACE: optional("namespace", "none", "Namespace of the Transit engine."),
  TRANSIT_CA_FILE: optional("file", "the system's certificates", "Certificates to check the Transit server by, PEM."),
  KMS_KEY_ID: optional(
    "key id, ARN or alias",
    "the root key is in its file",
    "Root key in AWS KMS. The AWS SDK finds region, credentials and endpoint as it always does.",
  ),
};

const REQUESTS = {
  BODY_LIMIT_BYTES: whole(
    5 * MB,
    [1_024, 100 * MB],
    "Largest request body in bytes. `/proxy` has limits of its own: 5 MB for text, which is searched for references, and for bodies that a transform reads. Other bodies stream through it.",
  ),
  REQUEST_TIMEOUT_MS: whole(
    30_000,
    [1_000, 600_000],
    "Longest deadline in milliseconds that an RPC call can set. A call that sets none has none.",
  ),
  RATE_LIMITS: optional(
    "`off`, or `scope=requests` separated by commas",
    `\`${documentedLimits()}\``,
    `Requests of one client in ${WINDOW_SECONDS} seconds, by scope. Scopes that are left out keep their default.`,
  ),
  REDIS_URL: secret(
    "`redis://` or `rediss://` URL",
    "each process counts by itself",
    "Valkey or Redis in which replicas share the counters of rate limits.",
  ),
  RPC_FAST_PATH: text(
    "`on` or `off`",
    "on",
    "`off` sends unary calls over gRPC, gRPC-Web and Connect through the general handlers, which are slower.",
  ),
};

const OUTGOING = {
  EGRESS_ALLOW: optional(
    "CIDRs and hosts, separated by commas",
    "none",
    "Destinations that proxies, tenants' code and callbacks may reach although they are not public.",
  ),
  EGRESS_DENY: optional(
    "CIDRs and hosts, separated by commas",
    "none",
    "Destinations that they may not reach although they are public.",
  ),
  PAYMENT_ADDRESSES: optional(
    "`formula=URL`, separated by commas",
    "the services' public addresses",
    "Addresses of payment services, for tests against stand-ins. Cards go there: set it in tests only.",
  ),
  SMTP_URL: secret(
    "`smtp://` or `smtps://` URL",
    "mails are written to files in the data directory",
    "Mail server that sends invitations.",
  ),
  MAIL_FROM: optional("mail address", "`no-reply` at the host of the public URL", "Sender of mails."),
};

const SANDBOX = {
  SANDBOX_THREADS: optionalWhole("by processors", [1, 64], "Threads that run tenants' code."),
  // Runs without a waiting caller have a lease of 60 s. Queueing and run together must end before another replica takes
  // the run over.
  SANDBOX_TIMEOUT_MS: whole(30_000, [100, 30_000], "Longest run of tenants' code, in milliseconds."),
  SANDBOX_MEMORY_MB: whole(128, [16, 1_024], "Memory that one run may allocate, in MB."),
  SANDBOX_QUEUE: whole(1_000, [1, 100_000], "Runs that may wait for a thread. Further runs are refused."),
  SANDBOX_QUEUE_WAIT_MS: whole(5_000, [100, 10_000], "Longest wait of a run for a thread, in milliseconds."),
};

const RECORDS = {
  LOG_LEVEL: text(
    LOG_LEVELS.map((level) => `\`${level}\``).join(", "),
    "info",
    "Least severe lines of the operator's log, which goes to standard output.",
  ),
  LOG_RETENTION_DAYS: whole(365, [0, 36_500], "Days that the log rows of tenants are kept. 0 keeps all."),
  LOG_ADDRESSES: text(
    "`full`, `truncated` or `none`",
    "full",
    "How much of client addresses the log rows of tenants keep. `truncated` keeps the network: /24 of IPv4, /48 of IPv6. PCI DSS 10.2.2 asks for the origin of each event, which `none` leaves out.",
  ),
  INCLUDED_MONTHLY_ACTIVE_TOKENS: whole(
    0,
    [0, 1_000_000_000_000],
    "Number of monthly active tokens that a tenant's usage report shows as included.",
  ),
  BIN_TABLE_FILE: optional(
    "JSON file",
    "none",
    "What you know of card issuers. See [Card issuers](operations.md#card-issuers).",
  ),
};

const SINKS = {
  AUDIT_FILE: optional(
    "file, or `-` for standard output",
    "none",
    "File that the log rows of tenants are sent to, as lines of JSON. See [Sending the log on](audit-export.md#sending-the-log-on).",
  ),
  AUDIT_FILE_BYTES: whole(
    100 * MB,
    [MB, 100 * 1024 * MB],
    "Size in bytes from which that file is renamed, and a new one begun.",
  ),
  AUDIT_FILES_KEPT: whole(0, [0, 100_000], "Renamed files that are kept. 0 keeps all."),
  AUDIT_SYSLOG: optional(
    "`tls://host:port` or `tcp://host:port`",
    "none",
    "Syslog server that the log rows of tenants are sent to (RFC 5424).",
  ),
  AUDIT_SYSLOG_CA_FILE: optional(
    "file",
    "the system's certificates",
    "Certificates to check the syslog server by, PEM.",
  ),
  AUDIT_OTLP_URL: optional(
    "`http` or `https` URL",
    "none",
    "OTLP receiver that the log rows of tenants are sent to, over HTTP in JSON: `http://collector.example.com:4318/v1/logs`.",
  ),
  AUDIT_OTLP_HEADERS: secret(
    "`name=value`, separated by commas",
    "none",
    "Further headers for that receiver, such as `authorization`.",
  ),
};

const PEOPLE = {
  SIGN_IN_IDLE_MINUTES: whole(
    15,
    [1, 15],
    "Minutes without a request after which a person's sign-in ends. PCI DSS 8.2.8 allows at most 15.",
  ),
  OPENID_ISSUER: optional(
    "`https` URL",
    "people sign in by mailed links only",
    "OpenID Connect issuer at which people sign in. Needs `CLOAKROOM_OPENID_CLIENT_ID` and `CLOAKROOM_OPENID_CLIENT_SECRET`.",
  ),
  OPENID_CLIENT_ID: optional("text", "no issuer", "Client id of this server at the issuer."),
  OPENID_CLIENT_SECRET: secret("text", "no issuer", "Client secret of this server at the issuer."),
};

/** Every setting whose variable starts with `CLOAKROOM_`, by its name without that prefix. */
export const SETTINGS = {
  ...LISTENING,
  ...DATABASE,
  ...ROOT_KEY,
  ...REQUESTS,
  ...OUTGOING,
  ...SANDBOX,
  ...RECORDS,
  ...SINKS,
  ...PEOPLE,
};
type Settings = typeof SETTINGS;

/** Names of settings of one kind. */
type NameOf<Kind extends Setting["kind"]> = {
  [Name in keyof Settings]: Settings[Name] extends { readonly kind: Kind } ? Name : never;
}[keyof Settings];

export type TextName = NameOf<"text">;
export type OptionalName = NameOf<"optional">;
export type SecretName = NameOf<"secret">;
export type WholeName = NameOf<"whole">;
export type OptionalWholeName = NameOf<"optional_whole">;
export type Name = keyof Settings | `${SecretName}_FILE`;

/** Settings by topic, in the order of the configuration reference, each under the full name of its variable. */
export const SETTING_GROUPS: readonly {
  readonly title: string;
  readonly settings: Readonly<Record<string, Setting>>;
}[] = [
  { title: "Listening", settings: prefixed(LISTENING) },
  { title: "Database", settings: { ...DATABASE_SETTINGS, ...prefixed(DATABASE) } },
  { title: "Root key", settings: prefixed(ROOT_KEY) },
  { title: "Requests", settings: prefixed(REQUESTS) },
  { title: "Outgoing calls and mail", settings: prefixed(OUTGOING) },
  { title: "Tenants' code", settings: prefixed(SANDBOX) },
  { title: "Logs and reports", settings: prefixed(RECORDS) },
  { title: "Sending the log on", settings: prefixed(SINKS) },
  { title: "People", settings: prefixed(PEOPLE) },
];

function prefixed(settings: Readonly<Record<string, Setting>>): Readonly<Record<string, Setting>> {
  return Object.fromEntries(Object.entries(settings).map(([name, setting]) => [`CLOAKROOM_${name}`, setting]));
}

/** The default limits, in the form of `CLOAKROOM_RATE_LIMITS`. */
function documentedLimits(): string {
  return Object.entries(DOCUMENTED_POINTS)
    .map(([scope, requests]) => `${scope}=${requests}`)
    .join(",");
}
