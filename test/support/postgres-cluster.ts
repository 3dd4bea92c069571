import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { PostgresPrograms } from "../../src/store/embedded/cluster.js";
import { createDataDirectory, type DataLocation, locateData } from "../../src/store/embedded/data-location.js";
import { findPostgres, installedPackage } from "../../src/store/embedded/postgres-programs.js";
import { childEnvironment } from "../../src/store/embedded/server-settings.js";
import { connect, type Sql, soleConnection } from "../../src/store/postgres/connect.js";
import { quoteName } from "../../src/store/statements/sql-text.js";
import { newDirectory } from "./new-directory.js";

export interface ClusterOptions {
  /**
   * `system`: the PostgreSQL whose bin directory is in TEST_POSTGRES, or the distribution's, or otherwise like
   * `bundled`: the one that npm installed.
   */
  readonly binaries?: "system" | "bundled";
  /** Arguments for `postgres`. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Written next to the data, readable by the server alone. Their paths begin with {@link PostgresCluster.directory}.
   */
  readonly files?: Readonly<Record<string, string>>;
  /** For measurements: on disk, and not in memory like other tests. */
  readonly onDisk?: boolean;
}

export interface LoginOptions {
  /** Attributes of the role, such as `createrole`. */
  readonly attributes?: string;
  /** The role owns a new database; otherwise it is only a role. */
  readonly ownsDatabase?: boolean;
}

/** A PostgreSQL as operators run it: on TCP, with a superuser, and with roles and databases for DATABASE_URL. */
export class PostgresCluster implements AsyncDisposable {
  readonly directory: string;
  readonly port: number;
  readonly major: number;
  /** The superuser, for what operators do. */
  readonly admin: Sql;
  readonly #location: DataLocation;
  readonly #binaries: PostgresPrograms;
  readonly #settings: Readonly<Record<string, string>>;
  #server: ChildProcess | undefined;
  #said = "";

  private constructor(
    directory: string,
    port: number,
    location: DataLocation,
    binaries: PostgresPrograms,
    settings: Readonly<Record<string, string>>,
  ) {
    this.directory = directory;
    this.port = port;
    this.major = binaries.major;
    this.admin = connect({ url: this.url("postgres", "postgres") }, { connections: 1, statementTimeout: 20_000 });
    this.#location = location;
    this.#binaries = binaries;
    this.#settings = settings;
  }

  /** Sets up a cluster and starts it: about a second. */
  static async start({
    binaries = "system",
    settings = {},
    files = {},
    onDisk = false,
  }: ClusterOptions = {}): Promise<PostgresCluster> {
    const directory = newDirectory({ onDisk });
    const location = await locateData(join(directory, "cluster"));
    await createDataDirectory(location);
    const found = binaries === "bundled" ? await bundledPostgres(location) : await systemPostgres(location);
    const cluster = new PostgresCluster(directory, await freePort(), location, found, settings);
    for (const [name, content] of Object.entries(files)) cluster.#give(join(directory, name), content);
    await cluster.#initialise();
    // While the cluster was set up, an outgoing connection may have taken the port, for a moment.
    for (let left = 20; ; left -= 1) {
      try {
        await cluster.startServer();
        return cluster;
      } catch (error) {
        if (left === 0 || !cluster.said.includes("Address already in use")) throw error;
        await setTimeout(500);
      }
    }
  }

  /** The postmaster. */
  get postmaster(): number {
    return this.#server?.pid ?? 0;
  }

  /** Everything in its log. */
  get said(): string {
    return this.#said;
  }

  url(role: string, database: string): string {
    return `postgres://${encodeURIComponent(role)}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  /** A role that may log in, by default with a database of the same name. Returns its DATABASE_URL. */
  async login(role: string, { attributes = "", ownsDatabase = true }: LoginOptions = {}): Promise<string> {
    await this.admin.unsafe(`create role ${quoteName(role)} login ${attributes} password '${PASSWORD}'`);
    if (ownsDatabase) await this.admin.unsafe(`create database ${quoteName(role)} owner ${quoteName(role)}`);
    return this.url(role, role);
  }

  /** What an administrator does for another login if another login has already created the roles. */
  async grantRoles(role: string): Promise<void> {
    const there = await this.admin<{ name: string }[]>`
      select rolname as name from pg_roles where rolname in ('cloakroom_app', 'cloakroom_jobs')`;
    for (const { name } of there) await this.admin.unsafe(`grant ${name} to ${quoteName(role)}`);
  }

  /** Works as the superuser in one of its databases. */
  async inDatabase<T>(database: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
    await using sql = soleConnection({ url: this.url("postgres", database) }, { statementTimeout: 0 });
    return await work(sql);
  }

  /** Killed backends hold its shared memory until the kernel has ended them. */
  async startServer(): Promise<void> {
    for (let left = 100; ; left -= 1) {
      const before = this.#said.length;
      try {
        return await this.#start();
      } catch (error) {
        if (left === 0 || !this.#said.slice(before).includes("pre-existing shared memory block")) throw error;
        await setTimeout(100);
      }
    }
  }

  async #start(): Promise<void> {
    const settings: Record<string, string> = {
      listen_addresses: "127.0.0.1",
      port: String(this.port),
      unix_socket_directories: "",
      // Test data need not survive a power cut. It does survive killed processes.
      fsync: "off",
      shared_buffers: "16MB",
      ...this.#settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const server = spawn(this.#binaries.postgres, ["-D", this.#data, ...args], {
      ...this.#location.account.spawnAs,
      cwd: "/",
      env: childEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#server = server;
    const before = this.#said.length;
    await new Promise<void>((resolve, reject) => {
      server.stderr.on("data", (chunk: Buffer) => {
        this.#said += chunk.toString();
        if (/ready to accept (read-only )?connections/.test(this.#said.slice(before))) resolve();
      });
      server.once("exit", () => reject(new Error(`PostgreSQL did not start:\n${this.#said.slice(before)}`)));
    });
  }

  /**
   * A standby that streams from this server, which restarts for it: it begins with a copy of the data. Stays a standby
   * until {@link promote}.
   */
  async addStandby(): Promise<PostgresCluster> {
    await this.stopServer();
    const directory = newDirectory();
    const location = await locateData(join(directory, "cluster"));
    await createDataDirectory(location);
    const source = `host=127.0.0.1 port=${this.port} user=postgres password=${PASSWORD} application_name=standby`;
    const settings = { ...this.#settings, primary_conninfo: source, wal_retrieve_retry_interval: "100ms" };
    const standby = new PostgresCluster(directory, await freePort(), location, this.#binaries, settings);
    // Node's own copy does not keep the owner, who is not root.
    execFileSync("cp", ["-a", this.#data, standby.#data]);
    standby.#give(join(standby.#data, "standby.signal"), "");
    await this.startServer();
    await standby.startServer();
    return standby;
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.admin`select pg_promote()`;
  }

  /** Makes commits wait for standbys from now on, as `synchronous_standby_names` says. */
  async waitForStandbys(names: string): Promise<void> {
    await this.admin.unsafe(`alter system set synchronous_standby_names = '${names}'`);
    await this.admin`select pg_reload_conf()`;
  }

  /** Like a power cut, except for the disk: neither the server nor its backends can do anything more. */
  async killServer(): Promise<void> {
    const postmaster = this.#server?.pid ?? 0;
    const backends = childrenOf(postmaster);
    process.kill(postmaster, "SIGSTOP");
    for (const pid of backends) process.kill(pid, "SIGKILL");
    await this.#end("SIGKILL");
  }

  /** `immediate`: without a checkpoint, and without waiting for anything. */
  async stopServer(how: "fast" | "immediate" = "fast"): Promise<void> {
    await this.#end(how === "fast" ? "SIGINT" : "SIGQUIT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin.end({ timeout: 1 });
    // The data is thrown away and needs no checkpoint.
    await this.#end("SIGQUIT");
    rmSync(this.directory, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#location.dataDir, "data");
  }

  /** Copies what the first cluster of this process was when it was new: initdb takes a second of processor time. */
  async #initialise(): Promise<void> {
    const kept = process.env.NEW_CLUSTERS;
    if (kept === undefined) return this.#initdb(this.#data);
    const { initdb } = this.#binaries;
    const made = newClusters.get(initdb) ?? this.#newCluster(mkdtempSync(join(kept, "cluster-")));
    newClusters.set(initdb, made);
    // Node's own copy does not keep the owner, who is not root.
    execFileSync("cp", ["-a", await made, this.#data]);
  }

  /** A cluster in this directory that is never started. */
  async #newCluster(directory: string): Promise<string> {
    chmodSync(directory, 0o755);
    const data = join(directory, "data");
    await this.#initdb(data);
    return data;
  }

  async #initdb(data: string): Promise<void> {
    mkdirSync(data, { mode: 0o700 });
    this.#handOver(data);
    const passwordFile = join(this.directory, "password");
    this.#give(passwordFile, `${PASSWORD}\n`);
    const settings = ["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"];
    const initdb = spawn(this.#binaries.initdb, [`--pgdata=${data}`, `--pwfile=${passwordFile}`, ...settings], {
      ...this.#location.account.spawnAs,
      cwd: "/",
      env: childEnvironment(),
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code] = await once(initdb, "exit");
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
  }

  #give(path: string, content: string): void {
    writeFileSync(path, content);
    chmodSync(path, 0o600);
    this.#handOver(path);
  }

  #handOver(path: string): void {
    const { uid, gid } = this.#location.account;
    if (process.geteuid?.() === 0) chownSync(path, uid, gid);
  }

  async #end(signal: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  }
}

/** Directories of new clusters by the initdb that made them. */
const newClusters = new Map<string, Promise<string>>();

function bundledPostgres(location: DataLocation): Promise<PostgresPrograms> {
  return findPostgres(location, installedPackage());
}

async function systemPostgres(location: DataLocation): Promise<PostgresPrograms> {
  const named = process.env.TEST_POSTGRES;
  if (named) return findPostgres(location, undefined, [named]);
  return findPostgres(location, undefined).catch(() => bundledPostgres(location));
}

const PASSWORD = "a-password-for-tests";

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === "" ? [] : children.split(" ").map(Number);
}

/** A port without a listener; if another process takes it meanwhile, the start reports that. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const closed = once(server, "close");
  server.close();
  await closed;
  if (typeof address !== "object" || address === null) throw new Error("there is no free port");
  return address.port;
}
