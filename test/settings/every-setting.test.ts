import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sensitive } from "../../src/crypto/sensitive.js";
import { type Config, readConfig } from "../../src/settings/config.js";
import { ConfigError } from "../../src/settings/config-error.js";
import { NAMES } from "../../src/settings/setting-names.js";
import type { Environment } from "../../src/settings/setting-values.js";
import type { OptionalName, SecretName, TextName } from "../../src/settings/settings.js";
import { SETTINGS } from "../../src/settings/settings.js";
import { createAuthority } from "../egress/certificates.js";
import { newDirectory } from "../support/new-directory.js";

/** What a setting makes of its texts. The bounds of whole numbers are tried in test/docs/configuration.test.ts. */
interface Row {
  readonly read: (config: Config) => unknown;
  readonly accepted: readonly (readonly [text: string, read: unknown])[];
  readonly refused?: readonly string[];
  /** Settings that it needs beside it. */
  readonly beside?: Environment;
}

type CheckedName = TextName | OptionalName | SecretName;

const directory = newDirectory();
const file = (name: string) => join(directory, name);
const revealed = (secret: Sensitive<string> | undefined) => secret?.reveal();
const TRANSIT = "https://bao.example.com:8200/v1/transit/keys/cloakroom";
const OPENID: Environment = {
  CLOAKROOM_OPENID_ISSUER: "https://id.example.com",
  CLOAKROOM_OPENID_CLIENT_ID: "vault",
  CLOAKROOM_OPENID_CLIENT_SECRET: "s3cr3t",
};
const STAMPS: Environment = {
  CLOAKROOM_AUDIT_TSA_URL: "http://tsa.example.com/tsr",
  CLOAKROOM_AUDIT_TSA_CA_FILE: file("ca"),
};
const transitOf = ({ rootKeyHolder }: Config) =>
  rootKeyHolder.kind === "transit" ? rootKeyHolder.settings : undefined;
const credentialsOf = (config: Config) => {
  const { credentials } = transitOf(config) ?? {};
  return credentials?.kind === "token"
    ? credentials.token.reveal()
    : credentials && [credentials.roleId, revealed(credentials.secretId)];
};
const allows =
  (host: string) =>
  ({ egress }: Config) =>
    egress.judge({ protocol: "https:", host, port: 443 }, host).allowed;

const ROWS: Readonly<Record<CheckedName, Row>> = {
  HOST: {
    read: ({ host }) => host,
    accepted: [
      ["0.0.0.0", "0.0.0.0"],
      ["::", "::"],
      ["vault.internal", "vault.internal"],
    ],
  },
  ADMIN_NAMES: {
    read: ({ adminNames }) => adminNames,
    accepted: [
      ["cloakroom", ["cloakroom"]],
      ["cloakroom, vault.monitoring.svc", ["cloakroom", "vault.monitoring.svc"]],
    ],
    refused: ["cloakroom:9464", "*.svc", "http://cloakroom"],
  },
  ADMIN_HOST: { read: ({ adminHost }) => adminHost, accepted: [["10.1.2.3", "10.1.2.3"]] },
  PUBLIC_URL: {
    read: ({ publicUrl }) => publicUrl,
    accepted: [
      ["https://vault.example.com", "https://vault.example.com"],
      ["https://vault.example.com/", "https://vault.example.com"],
      ["https://vault.example.com/cards//", "https://vault.example.com/cards"],
      ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ],
    refused: [
      "vault.example.com",
      "ftp://vault.example.com",
      "https://",
      "https://vault.example.com?a=b",
      "https://vault.example.com/#top",
      "https://vault.example.com/?",
      "https://vault.example.com/#",
      "https:vault.example.com",
      "https://@vault.example.com",
      "https://:@vault.example.com",
      "https:\\\\vault.example.com\\a",
      "https:///vault.example.com",
      "https://operator@vault.example.com",
      "https://operator:s3cr3t@vault.example.com",
      " https://vault.example.com",
    ],
  },
  TLS_CERT_FILE: {
    read: ({ tlsCertFile, tlsKeyFile }) => [tlsCertFile, tlsKeyFile],
    accepted: [["chain.pem", ["chain.pem", "key.pem"]]],
    beside: { CLOAKROOM_TLS_KEY_FILE: "key.pem" },
  },
  TLS_KEY_FILE: {
    read: ({ tlsCertFile, tlsKeyFile }) => [tlsCertFile, tlsKeyFile],
    accepted: [["key.pem", ["chain.pem", "key.pem"]]],
    beside: { CLOAKROOM_TLS_CERT_FILE: "chain.pem" },
  },
  TRUSTED_PROXIES: {
    read: ({ trustedProxies }) => trustedProxies.map(({ address, prefix, family }) => `${family} ${address}/${prefix}`),
    accepted: [
      ["10.0.0.7", ["ipv4 10.0.0.7/32"]],
      ["10.0.0.0/8, fd00::/8", ["ipv4 10.0.0.0/8", "ipv6 fd00::/8"]],
      ["::1,", ["ipv6 ::1/128"]],
    ],
    refused: [
      "load-balancer",
      "10.0.0.0/33",
      "10.0.0.0/",
      "10.0.0.0-10.0.0.9",
      "::1/129",
      "10.0.0.1 10.0.0.2",
      "10/8",
      "10.1",
      "010.0.0.1",
      "0x0a.0.0.1",
      "2130706433",
    ],
  },
  PROCESSES: {
    read: ({ processes }) => processes,
    accepted: [
      ["1", 1],
      ["4", 4],
    ],
    refused: ["0", "many", "1.5"],
  },
  CORS_ORIGINS: {
    read: ({ corsOrigins }) => corsOrigins,
    accepted: [
      ["*", ["*"]],
      ["https://a.example, http://localhost:3000", ["https://a.example", "http://localhost:3000"]],
    ],
    refused: [
      "a.example",
      "https://a.example/",
      "https://a.example/path",
      "HTTPS://A.example",
      "null",
      "https://a.example,",
    ],
  },
  DATA_DIR: {
    read: ({ dataDir }) => dataDir,
    accepted: [
      ["vault", resolve("vault")],
      ["/srv/vault/", "/srv/vault"],
    ],
  },
  ROOT_KEY_FILE: {
    read: ({ rootKeyHolder }) => rootKeyHolder,
    accepted: [["keys/root", { kind: "file", path: resolve("keys/root") }]],
  },
  TRANSIT_URL: {
    read: (config) => {
      const { origin, mount, keyName } = transitOf(config) ?? {};
      return [origin, mount, keyName];
    },
    accepted: [
      [TRANSIT, ["https://bao.example.com:8200", "transit", "cloakroom"]],
      [
        "https://bao.example.com/v1/teams/cards/transit/keys/k.1",
        ["https://bao.example.com", "teams/cards/transit", "k.1"],
      ],
      ["http://127.0.0.1:8200/v1/transit/keys/k", ["http://127.0.0.1:8200", "transit", "k"]],
    ],
    refused: [
      "https://bao.example.com:8200",
      "https://bao.example.com/transit/keys/k",
      "https://bao.example.com/v1/transit/keys/a b",
      "http://bao.example.com/v1/transit/keys/k",
      "https://user@bao.example.com/v1/transit/keys/k",
    ],
    beside: { CLOAKROOM_TRANSIT_TOKEN: "t" },
  },
  TRANSIT_TOKEN: {
    read: credentialsOf,
    accepted: [["hvs.abc", "hvs.abc"]],
    beside: { CLOAKROOM_TRANSIT_URL: TRANSIT },
  },
  TRANSIT_ROLE_ID: {
    read: credentialsOf,
    accepted: [["role", ["role", "secret"]]],
    beside: { CLOAKROOM_TRANSIT_URL: TRANSIT, CLOAKROOM_TRANSIT_SECRET_ID: "secret" },
  },
  TRANSIT_SECRET_ID: {
    read: credentialsOf,
    accepted: [["secret", ["role", "secret"]]],
    beside: { CLOAKROOM_TRANSIT_URL: TRANSIT, CLOAKROOM_TRANSIT_ROLE_ID: "role" },
  },
  TRANSIT_NAMESPACE: {
    read: (config) => transitOf(config)?.namespace,
    accepted: [["teams/cards", "teams/cards"]],
    beside: { CLOAKROOM_TRANSIT_URL: TRANSIT, CLOAKROOM_TRANSIT_TOKEN: "t" },
  },
  TRANSIT_CA_FILE: {
    read: (config) => transitOf(config)?.ca,
    accepted: [[file("some-text"), "text\n"]],
    refused: [file("none")],
    beside: { CLOAKROOM_TRANSIT_URL: TRANSIT, CLOAKROOM_TRANSIT_TOKEN: "t" },
  },
  KMS_KEY_ID: {
    read: ({ rootKeyHolder }) => rootKeyHolder,
    accepted: [["alias/cloakroom", { kind: "kms", keyId: "alias/cloakroom", former: undefined }]],
  },
  RATE_LIMITS: {
    read: ({ rateLimits }) => rateLimits?.token_read,
    accepted: [
      ["off", undefined],
      ["token_read=7", 7],
      ["global=5000", 100],
    ],
    refused: ["on", "token_read", "tokens=7", "token_read=0"],
  },
  REDIS_URL: {
    read: ({ redisUrl }) => revealed(redisUrl),
    accepted: [
      ["redis://:s3cr3t@valkey:6379/1", "redis://:s3cr3t@valkey:6379/1"],
      ["rediss://valkey", "rediss://valkey"],
    ],
    refused: ["valkey:6379", "http://:s3cr3t@valkey", "redis://"],
  },
  EGRESS_ALLOW: {
    read: allows("10.1.2.3"),
    accepted: [
      ["10.0.0.0/8", true],
      ["10.1.2.3", true],
      ["api.internal", false],
    ],
    refused: ["10.0.0.1/8", "https://api.internal", "a b"],
  },
  EGRESS_DENY: {
    read: allows("8.8.8.8"),
    accepted: [
      ["8.8.8.0/24", false],
      ["9.9.9.9", true],
    ],
    refused: ["8.8.8.8/24", "*", "[8.8.8.8]"],
  },
  PAYMENT_ADDRESSES: {
    read: ({ paymentAddresses }) => [...paymentAddresses],
    accepted: [
      ["stripe-card=http://127.0.0.1:12111/", [["stripe-card", "http://127.0.0.1:12111"]]],
      ["adyen-card=https://a.example/x=y, ", [["adyen-card", "https://a.example/x=y"]]],
    ],
    refused: [
      "stripe=http://127.0.0.1",
      "stripe-card",
      "stripe-card=127.0.0.1",
      "stripe-card=ftp://127.0.0.1",
      "stripe=https://u:s3cr3t@127.0.0.1",
      "https://u:s3cr3t@127.0.0.1",
    ],
  },
  SMTP_URL: {
    read: ({ smtpUrl }) => revealed(smtpUrl),
    accepted: [
      ["smtps://u:s3cr3t@mail.example.com:465", "smtps://u:s3cr3t@mail.example.com:465"],
      ["smtp://mail", "smtp://mail"],
    ],
    refused: ["mail.example.com", "https://u:s3cr3t@mail.example.com", "smtp://"],
  },
  MAIL_FROM: {
    read: ({ mailFrom }) => mailFrom,
    accepted: [
      ["vault@example.com", "vault@example.com"],
      ["Cloakroom <vault@example.com>", "Cloakroom <vault@example.com>"],
      ['"Cards, Inc." <vault@example.com>', '"Cards, Inc." <vault@example.com>'],
    ],
    refused: ["vault", "vault@", "a@example.com, b@example.com", "Cards\r\nBcc: x@example.com <vault@example.com>"],
  },
  LOG_LEVEL: {
    read: ({ logLevel }) => logLevel,
    accepted: [
      ["warn", "warn"],
      ["silent", "silent"],
    ],
    refused: ["WARN", "trace"],
  },
  LOG_ARCHIVE: {
    read: ({ logArchive }) => logArchive,
    accepted: [
      ["/var/lib/cloakroom-log", "/var/lib/cloakroom-log"],
      ["s3://log/archive", "s3://log/archive"],
      ["off", "off"],
    ],
  },
  AUDIT_CLIENT_ADDRESSES: {
    read: ({ auditClientAddresses }) => auditClientAddresses,
    accepted: [
      ["truncated", "truncated"],
      ["none", "none"],
    ],
    refused: ["no", "Full"],
  },
  BIN_TABLE_FILE: { read: ({ binTableFile }) => binTableFile, accepted: [["bins.json", "bins.json"]] },
  AUDIT_FILE: {
    read: ({ logSinks }) => logSinks.file,
    accepted: [
      ["-", "output"],
      ["audit.jsonl", { path: resolve("audit.jsonl"), bytes: 104_857_600 }],
    ],
  },
  S3_ENDPOINT: {
    read: ({ buckets }) => buckets.endpoint,
    accepted: [
      ["https://objects.example.com/", "https://objects.example.com"],
      ["http://127.0.0.1:9000", "http://127.0.0.1:9000"],
    ],
    refused: ["objects.example.com", "ftp://objects", "https://key:secret@objects", "https://objects/?x=1"],
  },
  S3_REGION: {
    read: ({ buckets }) => [buckets.region, buckets.endpoint],
    accepted: [["eu-central-1", ["eu-central-1", "https://s3.eu-central-1.amazonaws.com"]]],
    refused: ["eu central", "EU/1"],
  },
  S3_ACCESS_KEY_ID: {
    read: ({ buckets }) => buckets.credentials?.accessKeyId,
    accepted: [["AKIA1", "AKIA1"]],
    beside: { CLOAKROOM_S3_SECRET_ACCESS_KEY: "s3cr3t" },
  },
  S3_SECRET_ACCESS_KEY: {
    read: ({ buckets }) => revealed(buckets.credentials?.secretAccessKey),
    accepted: [["s3cr3t", "s3cr3t"]],
    beside: { CLOAKROOM_S3_ACCESS_KEY_ID: "AKIA1" },
  },
  S3_SESSION_TOKEN: {
    read: ({ buckets }) => revealed(buckets.credentials?.sessionToken),
    accepted: [["t0ken", "t0ken"]],
    beside: { CLOAKROOM_S3_ACCESS_KEY_ID: "AKIA1", CLOAKROOM_S3_SECRET_ACCESS_KEY: "s3cr3t" },
  },
  AUDIT_SYSLOG: {
    read: ({ logSinks }) => logSinks.syslog,
    accepted: [
      ["tcp://10.0.0.5:601", { host: "10.0.0.5", port: 601, isTls: false, ca: undefined }],
      ["tls://logs.example.com:6514", { host: "logs.example.com", port: 6514, isTls: true, ca: undefined }],
      ["tls://[fd00::5]:6514", { host: "fd00::5", port: 6514, isTls: true, ca: undefined }],
    ],
    refused: [
      "udp://logs:514",
      "logs:514",
      "tcp://logs",
      "tcp://logs:0",
      "tcp://logs:65536",
      "tcp://u@logs:601",
      "tcp://fd00::5:601",
    ],
  },
  AUDIT_SYSLOG_CA_FILE: {
    read: ({ logSinks }) => logSinks.syslog?.ca,
    accepted: [[file("some-text"), "text\n"]],
    refused: [file("none")],
    beside: { CLOAKROOM_AUDIT_SYSLOG: "tls://logs:6514" },
  },
  AUDIT_OTLP_URL: {
    read: ({ logSinks }) => logSinks.otlp?.url,
    accepted: [["http://collector:4318/v1/logs?x=y", "http://collector:4318/v1/logs?x=y"]],
    refused: ["collector:4318", "ftp://collector", "http://u:s3cr3t@collector", "http://collector/#x"],
  },
  AUDIT_OTLP_HEADERS: {
    read: ({ logSinks }) => [...(logSinks.otlp?.headers ?? [])].map(([name, value]) => [name, value.reveal()]),
    accepted: [
      ["authorization=Bearer a=b", [["authorization", "Bearer a=b"]]],
      [
        " x-team = cards , x-a=1,",
        [
          ["x-team", "cards"],
          ["x-a", "1"],
        ],
      ],
    ],
    refused: ["s3cr3t", "a b=s3cr3t", "x=", "x=s3cr3t\u0000", "x=é"],
    beside: { CLOAKROOM_AUDIT_OTLP_URL: "http://collector/v1/logs" },
  },
  AUDIT_TSA_URL: {
    read: ({ timeStamps }) => timeStamps?.url,
    accepted: [["https://tsa.example.com/tsr", "https://tsa.example.com/tsr"]],
    refused: [
      "tsa.example.com",
      "ftp://tsa.example.com",
      "http://u:s3cr3t@tsa.example.com",
      "http://tsa.example.com/#x",
    ],
    beside: { CLOAKROOM_AUDIT_TSA_CA_FILE: file("ca") },
  },
  AUDIT_TSA_CA_FILE: {
    read: ({ timeStamps }) => timeStamps?.trusted.map(({ subject }) => subject),
    accepted: [[file("ca"), ["CN=Test root"]]],
    refused: [file("none"), file("some-text")],
    beside: { CLOAKROOM_AUDIT_TSA_URL: "http://tsa.example.com/tsr" },
  },
  AUDIT_TSA_POLICY: {
    read: ({ timeStamps }) => timeStamps?.policy,
    accepted: [["1.3.6.1.4.1.311", "1.3.6.1.4.1.311"]],
    refused: ["3.1", "1", "1..2", "1.02", "policy"],
    beside: STAMPS,
  },
  OPENID_ISSUER: {
    read: ({ openId }) => openId?.issuer,
    accepted: [
      ["https://id.example.com/tenant", "https://id.example.com/tenant"],
      ["http://localhost:9000", "http://localhost:9000"],
      ["http://127.8.0.1:9000", "http://127.8.0.1:9000"],
    ],
    refused: [
      "id.example.com",
      "http://id.example.com",
      "https://id.example.com?a=b",
      "http://127.0.0.1.example.com",
      "http://u:s3cr3t@id.example.com",
      "https://u:s3cr3t@id.example.com",
    ],
    beside: OPENID,
  },
  OPENID_CLIENT_ID: { read: ({ openId }) => openId?.clientId, accepted: [["cards", "cards"]], beside: OPENID },
  OPENID_CLIENT_SECRET: {
    read: ({ openId }) => revealed(openId?.clientSecret),
    accepted: [["s3cr3t", "s3cr3t"]],
    beside: OPENID,
  },
  OPENID_SECOND_FACTOR: {
    read: ({ openId }) => openId?.secondFactor,
    accepted: [
      ["amr=mfa", { amr: ["mfa"], acr: [] }],
      ["amr=otp, acr=urn:a:b, amr=hwk", { amr: ["otp", "hwk"], acr: ["urn:a:b"] }],
    ],
    refused: ["mfa", "amr=", "amr=a b", "sub=me", "amr=mfa,"],
    beside: OPENID,
  },
};

const rows = Object.entries(ROWS).map(([name, row]) => ({ variable: `CLOAKROOM_${name}`, ...row }));
const accepted = rows.flatMap(({ accepted: texts, ...row }) =>
  texts.map(([text, result]) => ({ ...row, text, result })),
);
const refused = rows.flatMap(({ refused: texts = [], ...row }) => texts.map((text) => ({ ...row, text })));

beforeAll(async () => {
  writeFileSync(file("some-text"), "text\n");
  writeFileSync(file("ca"), (await createAuthority()).pem);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The message with which the configuration is refused. */
function settingError(environment: Environment): string {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("the configuration was accepted");
}

describe("a setting's text", () => {
  it.each(accepted)("$variable=$text is read", ({ variable, text, read, result, beside }) => {
    expect(read(readConfig({ ...beside, [variable]: text }))).toEqual(result);
  });

  it.each(refused)("$variable=$text stops the start", ({ variable, text, beside }) => {
    const message = settingError({ ...beside, [variable]: text });
    expect(message.startsWith(variable), message).toBe(true);
    expect(message).toMatch(/ (?:must be|names a file|cannot be read|".*" is not valid)/);
    expect(message).not.toMatch(/s3cr3t|\n/);
  });

  it.each(rows)("$variable is refused if it is empty", ({ variable, beside }) => {
    for (const text of ["", " ", "\t"]) {
      expect(settingError({ ...beside, [variable]: text })).toMatch(
        new RegExp(`^${variable} is set, but empty\\. Give it a`),
      );
    }
  });
});

describe("a secret", () => {
  const secrets = Object.entries(SETTINGS).flatMap(([name, { kind }]) =>
    kind === "secret" ? [`CLOAKROOM_${name}`] : [],
  );
  const rowOf = (variable: string) => rows.find((row) => row.variable === variable);

  it.each(secrets)("%s may come as a file, without the line break at its end", (variable) => {
    const { read, accepted: [[text, result] = ["", ""]] = [], beside = {} } = rowOf(variable) ?? {};
    const { [variable]: _, ...others } = beside;
    writeFileSync(file(variable), `${text}\n`);
    expect(read?.(readConfig({ ...others, [`${variable}_FILE`]: file(variable) }))).toEqual(result);
    expect(NAMES).toContain(`${variable.slice("CLOAKROOM_".length)}_FILE`);
  });

  it.each(secrets)("%s may not be given twice, by a file that is missing, or by an empty one", (variable) => {
    const { beside = {} } = rowOf(variable) ?? {};
    const { [variable]: _, ...others } = beside;
    const byFile = `${variable}_FILE`;
    writeFileSync(file("empty"), "\n");
    expect(settingError({ ...others, [variable]: "a", [byFile]: file("some-text") })).toBe(
      `Set ${variable} or ${byFile}, not both.`,
    );
    expect(settingError({ ...others, [byFile]: file("none") })).toBe(
      `${byFile} names a file that cannot be read: ${file("none")}`,
    );
    expect(settingError({ ...others, [byFile]: file("empty") })).toBe(
      `${byFile} names an empty file: ${file("empty")}`,
    );
  });
});

describe("settings that belong together", () => {
  const transit = { CLOAKROOM_TRANSIT_URL: TRANSIT };
  const needsCredentials =
    /^With CLOAKROOM_TRANSIT_URL, set CLOAKROOM_TRANSIT_TOKEN, or CLOAKROOM_TRANSIT_ROLE_ID and /;
  const needsOpenId =
    /^Set all of CLOAKROOM_OPENID_ISSUER, CLOAKROOM_OPENID_CLIENT_ID and CLOAKROOM_OPENID_CLIENT_SECRET, or/;

  it.each<[string, Environment, RegExp]>([
    ["a certificate without its key", { CLOAKROOM_TLS_CERT_FILE: "c" }, /^Set both CLOAKROOM_TLS_CERT_FILE and/],
    ["a key without its certificate", { CLOAKROOM_TLS_KEY_FILE: "k" }, /^Set both CLOAKROOM_TLS_CERT_FILE and/],
    [
      "migrations of an embedded database",
      { MIGRATE_DATABASE_URL: "postgres://x" },
      /^MIGRATE_DATABASE_URL is set, but not/,
    ],
    ["Transit without credentials", transit, needsCredentials],
    ["Transit with half an AppRole", { ...transit, CLOAKROOM_TRANSIT_ROLE_ID: "r" }, needsCredentials],
    [
      "Transit with two kinds of credentials",
      { ...transit, CLOAKROOM_TRANSIT_TOKEN: "t", CLOAKROOM_TRANSIT_ROLE_ID: "r", CLOAKROOM_TRANSIT_SECRET_ID: "s" },
      needsCredentials,
    ],
    [
      "a Transit namespace without its address",
      { CLOAKROOM_TRANSIT_NAMESPACE: "n" },
      /^CLOAKROOM_TRANSIT_NAMESPACE is set, but/,
    ],
    ["an issuer alone", { CLOAKROOM_OPENID_ISSUER: "https://id.example.com" }, needsOpenId],
    ["a client's secret alone", { CLOAKROOM_OPENID_CLIENT_SECRET: "s" }, needsOpenId],
    [
      "a second factor without issuer",
      { CLOAKROOM_OPENID_SECOND_FACTOR: "amr=mfa" },
      /^CLOAKROOM_OPENID_SECOND_FACTOR needs/,
    ],
    [
      "a CA of syslog over TCP",
      { CLOAKROOM_AUDIT_SYSLOG: "tcp://l:1", CLOAKROOM_AUDIT_SYSLOG_CA_FILE: "c" },
      /needs .* tls:\/\//,
    ],
    ["headers without a receiver", { CLOAKROOM_AUDIT_OTLP_HEADERS: "a=b" }, /^CLOAKROOM_AUDIT_OTLP_HEADERS needs/],
    ["a time-stamp policy alone", { CLOAKROOM_AUDIT_TSA_POLICY: "1.2.3" }, /^Set both CLOAKROOM_AUDIT_TSA_URL and/],
    [
      "an authority without certificates",
      { CLOAKROOM_AUDIT_TSA_URL: "http://t" },
      /^Set both CLOAKROOM_AUDIT_TSA_URL and/,
    ],
  ])("%s is refused", (_, environment, words) => {
    expect(settingError(environment)).toMatch(words);
  });

  it("Transit and KMS at once are for the move from one to the other", () => {
    const { rootKeyHolder } = readConfig({ ...transit, CLOAKROOM_TRANSIT_TOKEN: "t", CLOAKROOM_KMS_KEY_ID: "k" });
    expect(rootKeyHolder).toMatchObject({ kind: "kms", keyId: "k", former: { keyName: "cloakroom" } });
  });

  it("a time-stamp authority is the only destination that its setting opens", () => {
    const { timeStamps } = readConfig({ ...STAMPS, CLOAKROOM_AUDIT_TSA_URL: "http://10.0.0.9:318/tsr" });
    const judged = (host: string, port: number) =>
      timeStamps?.egress.judge({ protocol: "http:", host, port }, host).allowed;
    expect([judged("10.0.0.9", 318), judged("10.0.0.9", 80), judged("10.0.0.8", 318)]).toEqual([true, false, false]);
    expect(readFileSync(file("ca"), "utf8")).toContain("BEGIN CERTIFICATE");
  });
});

describe("a name that is not known", () => {
  it.each([
    ["CLOAKROOM_PROT", "CLOAKROOM_PORT"],
    ["CLOAKROOM_TRUSTED_PROXY", "CLOAKROOM_TRUSTED_PROXIES"],
    ["CLOAKROOM_REDIS_URl", "CLOAKROOM_REDIS_URL"],
    ["CLOAKROOM_AUDIT_FLE", "CLOAKROOM_AUDIT_FILE"],
    ["CLOAKROOM_SMTP_URL_FILES", "CLOAKROOM_SMTP_URL_FILE"],
    ["CLOAKROOM_WHATEVER", undefined],
    ["CLOAKROOM_", undefined],
  ])("%s stops the start, with the name that was probably meant", (name, meant) => {
    const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
    expect(settingError({ [name]: "x" })).toBe(
      `Unknown setting ${name}.${hint} docs/configuration.md lists all settings.`,
    );
  });

  it("belongs to another program without the prefix CLOAKROOM_", () => {
    expect(() => readConfig({ PORT: "x", cloakroom_port: "x", MY_CLOAKROOM_PORT: "x" })).not.toThrow();
  });
});
