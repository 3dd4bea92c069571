import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { Health, HealthCheckResponse_ServingStatus } from "../../../gen/health/v1/health_pb.js";
import { awaitedLater } from "../../support/awaited-later.js";
import { cloakroom, cloakroomFed } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { type Replica, startReplica } from "../../support/replica.js";
import { restClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant } from "../../support/tenant.js";

const directory = newDirectory();
const dataDir = join(directory, "data");
const keyFile = join(dataDir, "root.key");
const away = join(directory, "safe.key");
const socket = join(dataDir, "unseal.sock");
let environment: Record<string, string>;
let url: string;
let key: string;
let tokenId: string;
let shares: string[];
/** Of the same key, split again. */
let otherShares: string[];
let server: Replica | undefined;

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  environment = { CLOAKROOM_DATA_DIR: copyMigratedData(dataDir), CLOAKROOM_PORT: String(port) };
  server = await startReplica(environment);
  key = (await (await newTenant(url, environment)).backEnd()).key;
  tokenId = (await restClient(url, key)("POST", "/tokens", { body: { type: "token", data: "kept" } })).body.id;
});
afterAll(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

const NOT_A_SHARE = "This is not a share: it starts with cloakroom-share-1 and is one line.\n";

/** Sends a line to the sealed server as another program might. Returns the response once the server has closed. */
async function sayToSocket(line: string): Promise<object> {
  const connection = connectSocket(socket).setEncoding("utf8");
  connection.on("error", () => {});
  connection.write(`${line}\n`);
  let said = "";
  for await (const text of connection) said += text;
  return JSON.parse(said);
}

/** Runs a command with these lines on its standard input. */
const withInput = (lines: readonly string[], ...args: readonly string[]) =>
  cloakroomFed(environment, { lines }, ...args);

/** Every call fails with a retryable error of its protocol: nothing is reported as missing. */
async function expectSealed(): Promise<void> {
  const client = restClient(url, key);
  for (const [method, path] of [
    ["GET", `/tokens/${tokenId}`],
    ["POST", "/tokens"],
    ["DELETE", `/tokens/${tokenId}`],
    ["GET", "/docs"],
    ["POST", "/orchestration/webhooks/x"],
    ["GET", "/nope"],
  ] as const) {
    const { status, headers, body } = await client(method, path, method === "POST" ? { body: {} } : {});
    expect([path, status, headers.get("retry-after"), body.code]).toEqual([path, 503, "30", "unavailable"]);
    expect(body.detail).toContain("sealed");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
  const proxied = await client("GET", "/proxy/x", { headers: { Origin: "https://shop.example" } });
  expect([proxied.status, proxied.body.proxy_error.code]).toEqual([503, "unavailable"]);
  expect(proxied.headers.get("access-control-allow-origin")).toBe("*");
  expect((await client("OPTIONS", "/tokens", { headers: { Origin: "https://shop.example" } })).status).toBe(204);
  const large = await client("POST", "/tokens", { raw: "x".repeat(3_000_000) });
  expect(large.status).toBe(503);
  for (const protocol of RPC_PROTOCOLS) {
    const { getToken } = rpcClient(TokenService, protocol, { url, key });
    expect(await failureOf(getToken({ id: tokenId }))).toMatchObject({
      ...{ code: "Unavailable", reason: "unavailable", retryAfter: 30 },
      message: expect.stringContaining("sealed"),
    });
    const health = rpcClient(Health, protocol, { url });
    for (const service of ["", TokenService.typeName]) {
      expect((await health.check({ service })).status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
    }
  }
}

it("keys split rejects counts that make no sense, and prints or writes shares once", async () => {
  for (const [count, threshold] of [
    ["1", "1"],
    ["3", "4"],
  ]) {
    const refused = await cloakroom(
      environment,
      "keys",
      "split",
      "--shares",
      String(count),
      "--threshold",
      String(threshold),
    );
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/must be a whole number from 2 to (255|3)\./);
  }
  const other = await cloakroom(environment, "keys", "split", "--shares", "2", "--threshold", "2", "--json");
  otherShares = JSON.parse(other.stdout).map(({ text }: { text: string }) => text);
  const out = join(directory, "shares");
  const split = await cloakroom(
    environment,
    "keys",
    "split",
    "--shares",
    "5",
    "--threshold",
    "3",
    "--out",
    out,
    "--json",
  );
  expect(split.code, split.stderr).toBe(0);
  const { files }: { files: string[] } = JSON.parse(split.stdout);
  expect(files).toHaveLength(5);
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
  shares = files.map((file) => readFileSync(file, "utf8").trim());
  for (const share of shares) expect(split.stdout + split.stderr).not.toContain(share);
});

it("keys split overwrites no shares, and says where they cannot be written", async () => {
  const into = (out: string) =>
    cloakroom(environment, "keys", "split", "--shares", "5", "--threshold", "2", "--out", out);
  const again = await into(join(directory, "shares"));
  expect(again).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/share-1-of-5 exists already\. .*--out\.\n$/),
  });
  expect(await into(keyFile)).toMatchObject({ code: 2, stderr: expect.stringContaining("it is a file") });
  expect(await into(join(keyFile, "below"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("below a file"),
  });
  expect(readdirSync(join(directory, "shares"))).toHaveLength(5);
});

it("a server without the key file waits sealed, and starts once enough shares are submitted", async () => {
  await server?.stop();
  renameSync(keyFile, away);
  const starting = awaitedLater(startReplica(environment));
  await expect
    .poll(() =>
      fetch(`${url}/readyz`).then(
        (response) => response.status,
        () => 0,
      ),
    )
    .toBe(503);
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ status: "not ready", checks: { root_key: "sealed" } });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await expectSealed();
  expect(statSync(socket).mode & 0o777).toBe(0o600);

  const [one = "", two = "", three = "", four = ""] = shares;
  const mistyped = `${one.slice(0, 60)}${one[60] === "A" ? "B" : "A"}${one.slice(61)}`;
  const wrong = await withInput([mistyped], "keys", "unseal");
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toBe("This share is mistyped or damaged: its checksum does not fit.\n");
  const none = await withInput([], "keys", "unseal");
  expect(none.code).toBe(2);
  const endless = await withInput(["x".repeat(2_000_000)], "keys", "unseal");
  expect(endless).toMatchObject({ code: 1, stderr: NOT_A_SHARE });
  expect(await sayToSocket("x".repeat(2_000_000))).toMatchObject({ held: 0, problem: NOT_A_SHARE.trim() });

  // A share of another split, submitted first, does not prevent others from completing theirs.
  const strange = await withInput([otherShares[0] ?? ""], "keys", "unseal", "--json");
  expect(JSON.parse(strange.stdout)).toEqual({ unsealed: false, shares_held: 1, shares_needed: 2 });
  const first = await withInput([one, one], "keys", "unseal", "--json");
  expect(JSON.parse(first.stdout)).toEqual({ unsealed: false, shares_held: 1, shares_needed: 3 });
  expect(first.stderr).toContain("1 of 3 shares received. 1 from a different split are kept apart");
  // Each holder submits alone, one of them with a file.
  await withInput([two], "keys", "unseal");
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  writeFileSync(join(directory, "of-four"), `${four}\n`, { mode: 0o600 });
  const last = await cloakroom(environment, "keys", "unseal", "--file", join(directory, "of-four"), "--json");
  expect(JSON.parse(last.stdout)).toEqual({ unsealed: true, shares_held: 3, shares_needed: 3 });

  server = await starting;
  const read = await restClient(url, key)("GET", `/tokens/${tokenId}`);
  expect(read).toMatchObject({ status: 200, body: { data: "kept" } });
  expect(existsSync(socket)).toBe(false);
  expect(existsSync(keyFile)).toBe(false);
  for (const share of [one, two, three, four]) expect(server.said()).not.toContain(share.split(".")[4]);
  expect((await withInput([one], "keys", "unseal")).stderr).toContain("No sealed server takes shares");
});

it("a command next to it reads shares from its standard input, and asks if there are none", async () => {
  const without = await withInput([], "tenants", "list");
  expect(without.code).toBe(1);
  expect(without.stderr).toMatch(/is kept in shares, and this command needs it: give 3 of them on standard input/);
  const listed = await withInput(shares.slice(1, 4), "tenants", "list", "--json");
  expect(listed.code, listed.stderr).toBe(0);
  expect(JSON.parse(listed.stdout)).toHaveLength(2);
});

it("a sealed server stops on request, and leaves nothing running", async () => {
  await server?.stop();
  const child = spawn(process.execPath, ["dist/src/main.js", "serve"], {
    env: { PATH: process.env.PATH, CLOAKROOM_ADMIN_PORT: "0", ...environment },
    stdio: "ignore",
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  await expect.poll(() => existsSync(socket)).toBe(true);
  await expect
    .poll(() =>
      fetch(`${url}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(existsSync(join(dataDir, "pg18", "data", "postmaster.pid"))).toBe(false);
});
