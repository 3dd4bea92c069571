import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { cloakroom, cloakroomFed, cloakroomProcess } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

describe("a wrong setting", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "cloakroom-configuration-"));
    writeFileSync(join(directory, "some-file"), "content");
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each<[Record<string, string>, RegExp]>([
    [{ CLOAKROOM_PROT: "8080" }, /Unknown setting CLOAKROOM_PROT\b/],
    [{ CLOAKROOM_: "x" }, /Unknown setting CLOAKROOM_\./],
    [{ CLOAKROOM_PORT: "eighty" }, /CLOAKROOM_PORT must be a whole number from 0 to 65535; it is "eighty"/],
    [{ CLOAKROOM_PORT: "65536" }, /CLOAKROOM_PORT must be/],
    [{ CLOAKROOM_PORT: "-1" }, /CLOAKROOM_PORT must be/],
    [{ CLOAKROOM_ADMIN_PORT: "1.5" }, /CLOAKROOM_ADMIN_PORT must be/],
    [{ CLOAKROOM_ADMIN_NAMES: "cloakroom:9464" }, /CLOAKROOM_ADMIN_NAMES must be names such as/],
    [{ CLOAKROOM_ADMIN_NAMES: "*.svc" }, /CLOAKROOM_ADMIN_NAMES must be names such as/],
    [{ CLOAKROOM_BODY_LIMIT_BYTES: "10" }, /CLOAKROOM_BODY_LIMIT_BYTES must be a whole number from 1024/],
    [{ CLOAKROOM_LOG_LEVEL: "loud" }, /CLOAKROOM_LOG_LEVEL must be one of debug, info, warn, error, silent/],
    [{ CLOAKROOM_RPC_FAST_PATH: "off" }, /Unknown setting CLOAKROOM_RPC_FAST_PATH\./],
    [{ CLOAKROOM_AUDIT_SYSLOG: "udp://logs:514" }, /CLOAKROOM_AUDIT_SYSLOG must be an address such as tls:/],
    [{ CLOAKROOM_AUDIT_SYSLOG: "tls://logs" }, /CLOAKROOM_AUDIT_SYSLOG must be an address such as tls:/],
    [{ CLOAKROOM_AUDIT_SYSLOG_CA_FILE: "some-file" }, /CLOAKROOM_AUDIT_SYSLOG_CA_FILE needs CLOAKROOM_AUDIT_SYSLOG/],
    [
      { CLOAKROOM_AUDIT_SYSLOG: "tls://logs:6514", CLOAKROOM_AUDIT_SYSLOG_CA_FILE: "no-file" },
      /CLOAKROOM_AUDIT_SYSLOG_CA_FILE cannot be read: no-file/,
    ],
    [{ CLOAKROOM_AUDIT_TSA_URL: "http://tsa/tsr" }, /Set both CLOAKROOM_AUDIT_TSA_URL and CLOAKROOM_AUDIT_TSA_CA_FILE/],
    [{ CLOAKROOM_AUDIT_OTLP_URL: "collector:4318" }, /CLOAKROOM_AUDIT_OTLP_URL must be an address such as http:/],
    [{ CLOAKROOM_AUDIT_OTLP_URL: "http://user:s3cr3t-word@c/v1/logs" }, /CLOAKROOM_AUDIT_OTLP_URL must be .*without/],
    [{ CLOAKROOM_AUDIT_OTLP_HEADERS: "a=b" }, /CLOAKROOM_AUDIT_OTLP_HEADERS needs CLOAKROOM_AUDIT_OTLP_URL/],
    [
      { CLOAKROOM_AUDIT_OTLP_URL: "http://c/v1/logs", CLOAKROOM_AUDIT_OTLP_HEADERS: "s3cr3t-word" },
      /CLOAKROOM_AUDIT_OTLP_HEADERS must be entries such as authorization=/,
    ],
    [{ CLOAKROOM_AUDIT_RETENTION_DAYS: "forever" }, /CLOAKROOM_AUDIT_RETENTION_DAYS must be/],
    [{ CLOAKROOM_DB_CONNECTIONS: "2" }, /CLOAKROOM_DB_CONNECTIONS must be/],
    [{ CLOAKROOM_PROCESSES: "many" }, /CLOAKROOM_PROCESSES must be auto or a whole number from 1 to 64; it is "many"/],
    [{ CLOAKROOM_PUBLIC_URL: "vault.example.com" }, /CLOAKROOM_PUBLIC_URL must be an address such as https:/],
    [{ CLOAKROOM_CORS_ORIGINS: "shop.example.com" }, /CLOAKROOM_CORS_ORIGINS must be/],
    [{ CLOAKROOM_CORS_ORIGINS: "https://shop.example.com/path" }, /CLOAKROOM_CORS_ORIGINS must be/],
    [
      { CLOAKROOM_TLS_CERT_FILE: "some-file" },
      /Set both CLOAKROOM_TLS_CERT_FILE and CLOAKROOM_TLS_KEY_FILE, or neither/,
    ],
    [
      { DATABASE_URL: "postgres://x", DATABASE_URL_FILE: "some-file" },
      /Set DATABASE_URL or DATABASE_URL_FILE, not both/,
    ],
    [
      { DATABASE_URL: "" },
      /^DATABASE_URL is set, but empty\. Give it a value, or remove it to use the embedded database/,
    ],
    [{ DATABASE_URL: " " }, /^DATABASE_URL is set, but empty/],
    [{ DATABASE_URL_FILE: "" }, /^DATABASE_URL_FILE is set, but empty/],
    [{ DATABASE_URL_FILE: "/dev/null" }, /^DATABASE_URL_FILE names an empty file: \/dev\/null/],
    [{ CLOAKROOM_PUBLIC_URL: "" }, /^CLOAKROOM_PUBLIC_URL is set, but empty\. Give it a value, or remove it/],
    [{ CLOAKROOM_SMTP_URL_FILE: "" }, /^CLOAKROOM_SMTP_URL_FILE is set, but empty/],
    [{ DATABASE_URL: "mysql://user:s3cr3t-word@db/vault" }, /^DATABASE_URL must begin with postgres:\/\//],
    [{ MIGRATE_DATABASE_URL: "postgres://x" }, /MIGRATE_DATABASE_URL is set, but not DATABASE_URL/],
    [{ CLOAKROOM_TRANSIT_TOKEN: "s.x" }, /CLOAKROOM_TRANSIT_TOKEN is set, but not CLOAKROOM_TRANSIT_URL/],
    [{ CLOAKROOM_TRANSIT_CA_FILE: "ca.pem" }, /CLOAKROOM_TRANSIT_CA_FILE is set, but not CLOAKROOM_TRANSIT_URL/],
    [{ CLOAKROOM_EGRESS_ALLOW: "10.0.0.1/8" }, /CLOAKROOM_EGRESS_ALLOW: "10\.0\.0\.1\/8" is not valid/],
    [{ CLOAKROOM_EGRESS_DENY: "a b" }, /CLOAKROOM_EGRESS_DENY: "a b" is not valid/],
    [
      { CLOAKROOM_PORT: "tcp://10.0.0.1:8080" },
      /CLOAKROOM_PORT is not a setting: Kubernetes .* enableServiceLinks: false/,
    ],
    [{ CLOAKROOM_SERVICE_HOST: "10.0.0.1" }, /CLOAKROOM_SERVICE_HOST is not a setting: Kubernetes/],
    [{ CLOAKROOM_API_SERVICE_PORT_HTTP: "80" }, /CLOAKROOM_API_SERVICE_PORT_HTTP is not a setting: Kubernetes/],
    [{ CLOAKROOM_PORT_80_TCP_ADDR: "10.0.0.1" }, /CLOAKROOM_PORT_80_TCP_ADDR is not a setting: Kubernetes/],
    [{ DATABASE_URL_FILE: "/does/not/exist" }, /DATABASE_URL_FILE names a file that cannot be read/],
  ])("%j stops the start with one line that says what to do, and creates nothing", async (settings, words) => {
    const environment = { CLOAKROOM_DATA_DIR: join(directory, "data"), ...settings };
    const { code, stdout, stderr } = await cloakroom(environment, "serve");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain("s3cr3t-word");
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(readdirSync(directory)).toEqual(["some-file"]);
  });

  it.each<[string, Record<string, string>]>([
    [
      "a certificate that is not there",
      { CLOAKROOM_TLS_CERT_FILE: "/does/not/exist", CLOAKROOM_TLS_KEY_FILE: "/does/not/exist" },
    ],
    [
      "an invalid certificate",
      { CLOAKROOM_TLS_CERT_FILE: "{directory}/some-file", CLOAKROOM_TLS_KEY_FILE: "{directory}/some-file" },
    ],
    ["a BIN table that is not there", { CLOAKROOM_BIN_TABLE_FILE: "/does/not/exist" }],
    ["an invalid BIN table", { CLOAKROOM_BIN_TABLE_FILE: "{directory}/some-file" }],
    ["a port that is taken", {}],
    ["an address that is not this machine's", { CLOAKROOM_HOST: "203.0.113.1" }],
    ["a database that cannot be reached", { DATABASE_URL: "postgres://someone:s3cr3t-word@127.0.0.1:1/none" }],
  ])("%s stops the start with one line, without a stack or secrets", async (name, settings) => {
    const own = newDirectory();
    try {
      const environment: Record<string, string> = {
        CLOAKROOM_DATA_DIR: copyMigratedData(join(own, "data")),
        // The shared server's port, if the test needs one that is taken.
        CLOAKROOM_PORT: name.includes("port") ? new URL(inject("serverUrl")).port : "0",
        CLOAKROOM_ADMIN_PORT: "0",
      };
      for (const [key, value] of Object.entries(settings)) environment[key] = value.replace("{directory}", directory);
      const { code, stderr } = await cloakroomProcess(environment, "serve");
      expect(code).toBe(1);
      expect(stderr).not.toContain("s3cr3t-word");
      expect(stderr).not.toMatch(/^\s+at /m);
      const words = stderr
        .trimEnd()
        .split("\n")
        .filter((line) => !/^(Made the root key|The database is kept in) /.test(line));
      expect(words, stderr).toHaveLength(1);
      expect(words[0]).toMatch(/\S/);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});

describe("an older Node", () => {
  it("gets the required version in one line", async () => {
    const own = newDirectory();
    try {
      const preload = join(own, "older.mjs");
      writeFileSync(
        preload,
        'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.18.0" } });',
      );
      const { code, stderr } = await cloakroomFed({}, { lines: [], preload }, "doctor");
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^Cloakroom needs Node\.js 22 or newer; this is 20\.18\.0\..*\n$/),
      });
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});

describe("a setting", () => {
  let server: ServerHere;
  beforeAll(async () => {
    server = await startServerHere({
      PUBLIC_URL: "https://vault.example.com/base/",
      LOG_LEVEL: "warn",
      ROOT_KEY_FILE: "{directory}/elsewhere.key",
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("sets the address that is announced", () => {
    expect(server.url).toBe("https://vault.example.com/base");
  });

  it("sets where the root key is created, and silences the operator's log", () => {
    expect(server.said()).toMatch(/Made the root key .*elsewhere\.key\./);
    expect(server.said()).not.toContain('"msg":"served"');
  });
});

describe("the size limit of bodies", () => {
  let server: ServerHere;
  let backEnd: RestClient & { readonly key: string };
  beforeAll(async () => {
    server = await startServerHere({ BODY_LIMIT_BYTES: "2048" });
    backEnd = await (await newTenant(server.url, server.environment)).backEnd();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("applies to every protocol as it is set", async () => {
    const body = (length: number) => ({ body: { type: "token", data: "x".repeat(length) } });
    expect(await backEnd("POST", "/tokens", body(1_900))).toMatchObject({ status: 201 });
    const over = await backEnd("POST", "/tokens", body(2_048));
    expect(over).toMatchObject({ status: 413, body: { code: "body_too_large" } });
    expect(over.body.detail).toContain("2048");
    const call = (length: number) => backEnd("POST", "/cloakroom.v1.TokenService/CreateToken", body(length));
    expect(await call(1_900)).toMatchObject({ status: 200 });
    expect(await call(2_048)).toMatchObject({ status: 429, body: { code: "resource_exhausted" } });
  });

  it("does not limit responses", async () => {
    const made = await Promise.all(
      Array.from({ length: 3 }, () => backEnd("POST", "/tokens", { body: { type: "token", data: "x".repeat(1_900) } })),
    );
    const body = made.map((created) => `{{ ${created.body.id} }}`);
    const response = await restClient(server.url, backEnd.key)("POST", "/detokenize", { body });
    expect(JSON.stringify(response.body).length).toBeGreaterThan(5_000);
  });
});
