// Computes: 15 s
// Needs: haproxy, nginx
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { LogService } from "../../gen/cloakroom/v1/logs_pb.js";
import { TokenService } from "../../gen/cloakroom/v1/tokens_pb.js";
import { toJson, toValue } from "../../src/services/value.js";
import { createAuthority } from "../egress/certificates.js";
import { cloakroom } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";
import { type Replica, startReplica } from "../support/replica.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../support/rpc.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

/** A port that was free a moment ago: a balancer's file names ports before a vault listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

interface Balancer {
  readonly program: string;
  /** Writes the file of deploy/balancers with this test's addresses. `out` leaves that vault out. */
  write(out?: number): void;
  readonly args: readonly string[];
  /** Takes a vault out, or back in. */
  drain(vault: number, isOut: boolean): Promise<void>;
  readonly reload: NodeJS.Signals;
}

interface Vault {
  readonly port: number;
  readonly admin: number;
  replica: Replica | undefined;
}

/** Two vaults on one database, which every balancer has behind it in turn. */
const directory = newDirectory();
const vaults: Vault[] = [];
let cluster: PostgresCluster;
let environment: Record<string, string>;
let tenant: TestTenant;
let key: string;

beforeAll(async () => {
  cluster = await PostgresCluster.start();
  environment = {
    DATABASE_URL: await cluster.login("vault", { attributes: "createrole" }),
    CLOAKROOM_DATA_DIR: join(directory, "data"),
  };
  expect(await cloakroom(environment, "init")).toMatchObject({ code: 0 });
  for (let n = 0; n < 2; n += 1) {
    vaults.push({ port: await freePort(), admin: await freePort(), replica: undefined });
  }
  await Promise.all(vaults.map(startVault));
  tenant = await newTenant(vaults[0]?.replica?.url, environment);
  ({ key } = await tenant.backEnd());
});
afterAll(async () => {
  await Promise.all(vaults.map(({ replica }) => replica?.stop()));
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function startVault(vault: Vault): Promise<void> {
  vault.replica = await startReplica({
    ...environment,
    CLOAKROOM_PORT: String(vault.port),
    CLOAKROOM_ADMIN_PORT: String(vault.admin),
    CLOAKROOM_TRUSTED_PROXIES: "127.0.0.1",
  });
}

describe.each(["haproxy", "nginx"] as const)("two vaults behind %s", (program) => {
  let ca: string;
  let port: number;
  let balancer: Balancer;
  let running: ChildProcess;
  let said = "";

  beforeAll(async () => {
    port = await freePort();
    await writeCertificate();
    balancer = program === "haproxy" ? haproxy() : nginx();
    balancer.write();
    running = spawn(balancer.program, balancer.args, { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [running.stdout, running.stderr]) stream?.on("data", (chunk) => (said += chunk));
    await serves();
  });
  afterAll(async () => {
    if (running?.exitCode === null && running.kill("SIGTERM")) await once(running, "exit");
  });

  async function writeCertificate(): Promise<void> {
    const authority = await createAuthority();
    const identity = await authority.issue(["localhost"], ["127.0.0.1"]);
    ca = authority.pem;
    writeFileSync(join(directory, "vault.crt"), identity.cert);
    writeFileSync(join(directory, "vault.key"), identity.key);
    writeFileSync(join(directory, "vault.pem"), `${identity.cert}\n${identity.key}`);
  }

  const [one, two] = ["10.0.0.11:8080", "10.0.0.12:8080"];
  const address = (n: number) => `127.0.0.1:${vaults[n]?.port}`;

  function haproxy(): Balancer {
    const file = join(directory, "haproxy.cfg");
    const socket = join(directory, "admin.sock");
    return {
      program: "haproxy",
      args: ["-W", "-db", "-f", file],
      reload: "SIGUSR2",
      write() {
        const content = readFileSync("deploy/balancers/haproxy.cfg", "utf8")
          .replace("/run/haproxy/admin.sock", socket)
          .replace("/etc/haproxy/", `${directory}/`)
          .replace(":8443", `127.0.0.1:${port}`)
          .replace("port 9464 ", "")
          .replace(one, `${address(0)} port ${vaults[0]?.admin}`)
          .replace(two, `${address(1)} port ${vaults[1]?.admin}`);
        writeFileSync(file, content);
      },
      async drain(vault, isOut) {
        const name = ["one", "two"][vault];
        const command = async (line: string) => {
          const client = connect(socket);
          client.end(`${line}\n`);
          return (await text(client)).trim();
        };
        expect(await command(`set server vault/${name} state ${isOut ? "drain" : "ready"}`)).toBe("");
        // Its checks have found the vault again, or the next one would leave none.
        const status = async () =>
          (await command("show stat")).split("\n").find((line) => line.startsWith(`vault,${name},`));
        if (!isOut) await vi.waitFor(async () => expect((await status())?.split(",")[17]).toBe("UP"));
      },
    };
  }

  function nginx(): Balancer {
    const file = join(directory, "nginx.conf");
    const scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => {
      mkdirSync(join(directory, name), { recursive: true });
      return `${name}_temp_path ${join(directory, name)};`;
    });
    const stopped = () => said.split("gracefully shutting down").length;
    const write = (out?: number) => {
      const content = readFileSync("deploy/balancers/nginx.conf", "utf8")
        .replace("/run/nginx.pid", join(directory, "nginx.pid"))
        .replaceAll("/etc/nginx/", `${directory}/`)
        .replace("listen 8443", `listen 127.0.0.1:${port}`)
        .replace("worker_processes auto", "worker_processes 1")
        .replace("http {", `http {\naccess_log off;\n${scratch.join("\n")}`)
        .replaceAll(`${one} `, `${address(0)} ${out === 0 ? "down " : ""}`)
        .replaceAll(`${two} `, `${address(1)} ${out === 1 ? "down " : ""}`);
      writeFileSync(file, `daemon off;\nerror_log stderr notice;\nuser root;\n${content}`);
    };
    return {
      program: "nginx",
      args: ["-c", file, "-e", "stderr"],
      reload: "SIGHUP",
      write,
      async drain(vault, isOut) {
        write(isOut ? vault : undefined);
        const before = stopped();
        running.kill("SIGHUP");
        // Its worker says so once it accepts no more connections.
        await vi.waitFor(() => expect(stopped()).toBeGreaterThan(before));
      },
    };
  }

  /** New connections are served by what a reload started, once the certificate says so. */
  async function reload(): Promise<void> {
    await writeCertificate();
    running.kill(balancer.reload);
    await serves();
  }

  /** `said` shows why, if it never does. */
  function serves(): Promise<void> {
    return vi.waitFor(async () => {
      const status = await send("GET", "/readyz").then((reply) => reply.status, String);
      expect({ status, said: status === 200 ? "" : said }).toEqual({ status: 200, said: "" });
    });
  }

  interface Reply {
    readonly status: number;
    // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
    readonly body: any;
  }

  function send(method: string, path: string, body?: unknown, more: { headers?: object; from?: string } = {}) {
    return new Promise<Reply>((resolve, reject) => {
      const headers = { "BT-API-KEY": key, "Content-Type": "application/json", ...more.headers };
      const place = { host: "127.0.0.1", port, path, method, ca, agent: false, localAddress: more.from };
      const sent = request({ ...place, headers }, async (response) => {
        const read = await text(response);
        // A balancer's own errors are pages.
        const isJson = response.headers["content-type"]?.includes("json") === true;
        resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(read) : read });
      });
      sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  const url = () => `https://127.0.0.1:${port}`;

  it("serve REST, with the client's address and no other that it claims", async () => {
    const more = { headers: { "X-Forwarded-For": "203.0.113.7" }, from: "127.0.0.2" };
    const made = await send("POST", "/tokens", { type: "token", data: "x".repeat(2_000_000) }, more);
    expect(made.status).toBe(201);
    const manage = { "BT-API-KEY": tenant.managementKey };
    await expect
      .poll(
        async () => (await send("GET", `/logs?entity_id=${made.body.id}`, undefined, { headers: manage })).body.data,
      )
      .toMatchObject([{ source_ip: "127.0.0.2" }]);
  });

  it.each(RPC_PROTOCOLS)("serve %s, errors with their details included", async (protocol) => {
    const client = rpcClient(TokenService, protocol, { key, url: url(), tls: { ca } });
    const { id } = await client.createToken({ type: "token", data: toValue(protocol) });
    const { data } = await client.getToken({ id });
    expect(data && toJson(data, "data")).toBe(protocol);
    expect(await failureOf(client.getToken({ id: "not-there" }))).toMatchObject({ reason: "not_found" });
  });

  it("keep a stream open over a reload with another certificate, and restart one by one without a failed request", async () => {
    const watcher = rpcClient(LogService, "gRPC", { key: tenant.managementKey, url: url(), tls: { ca } });
    const ended = new AbortController();
    let seen = 0;
    const followed = (async () => {
      for await (const _ of watcher.followLogs({}, { signal: ended.signal })) seen += 1;
    })().catch(() => {});
    await expect
      .poll(async () => (await send("POST", "/tokens", { type: "token", data: 1 })).status && seen)
      .toBeGreaterThan(0);
    const failures: unknown[] = [];
    let sent = 0;
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const reply = await send("POST", "/tokens", { type: "token", data: sent }).catch((error: unknown) => error);
        sent += 1;
        if (
          !(reply instanceof Error || reply === null) &&
          typeof reply === "object" &&
          "status" in reply &&
          reply.status === 201
        )
          continue;
        failures.push(reply);
      }
    })();
    for (const [n, vault] of vaults.entries()) {
      await balancer.drain(n, true);
      expect(await vault.replica?.stop()).toBe(0);
      await startVault(vault);
      await balancer.drain(n, false);
    }
    isOver = true;
    await load;
    expect({ failures, said }).toEqual({ failures: [], said: expect.any(String) });
    expect(sent).toBeGreaterThan(20);
    const before = await certificate();
    await reload();
    // Workers of before the reload may accept a few connections more.
    await vi.waitFor(async () => expect(await certificate()).not.toBe(before));
    ended.abort();
    await followed;
  });

  function certificate(): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = tlsConnect({ host: "127.0.0.1", port, ca, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      }).on("error", reject);
    });
  }
});
