import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { clusterIn, majorsIn } from "../../../../src/store/embedded/cluster.js";
import type { EmbeddedConnection } from "../../../../src/store/embedded/embedded-database.js";
import { existingServer, findPostmaster, stopServer } from "../../../../src/store/embedded/postgres-server.js";
import { removeSocketDirectory } from "../../../../src/store/embedded/socket-directory.js";
import { withCompileCache } from "../../../support/compile-cache.js";
import type { AtTheEnd } from "./databases.js";
import { openPackage } from "./open-package.js";

const HOOKS = fileURLToPath(new URL("./run-typescript.mjs", import.meta.url));
const SCRIPT = fileURLToPath(new URL("./database-user.ts", import.meta.url));

/** Puts a process into its own namespaces, like another container on the same volume. */
export const CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--ipc"] as const;

/** Root may do so on most machines, but not inside every container. */
export const canContain = spawnSync(CONTAINER[0], [...CONTAINER.slice(1), "true"]).status === 0;

export interface UserOptions {
  readonly mode: "start" | "share";
  readonly dataDir: string;
  readonly packageDir?: string;
}

/** Ends what a killed process has left behind if a test fails before another process takes it over. */
async function endServersIn(dataDir: string): Promise<void> {
  for (const major of await majorsIn(dataDir).catch(() => [])) {
    const { data } = clusterIn(dataDir, major);
    const postmaster = await findPostmaster(data);
    if (postmaster === undefined) continue;
    await stopServer(existingServer(postmaster.pid, data));
    if (postmaster.socketDirectory !== undefined) await removeSocketDirectory(postmaster.socketDirectory);
  }
}

interface SpawnAs {
  /** The account that the process takes once it has loaded its modules, which may be where only root can read them. */
  readonly uid?: number;
  readonly gid?: number;
  readonly env?: NodeJS.ProcessEnv;
  /** Words before `node`, for instance `unshare --pid`. */
  readonly prefix?: readonly string[];
  readonly atTheEnd?: AtTheEnd;
}

/** A message of the process: exactly one of the fields. */
export interface Message {
  readonly ready?: { connection: EmbeddedConnection; isNew: boolean; dataDir: string };
  readonly announced?: string;
  readonly exited?: { expected: boolean; summary: string };
  readonly failed?: string;
}

/** Another process that uses a database, like a second server or a command. It ends with the test. */
export class DatabaseUser {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #messages: Message[] = [];
  #wake = (): void => {};
  /** Everything that it wrote to stderr. */
  complaints = "";

  constructor(options: UserOptions, as: SpawnAs = {}) {
    const { prefix = [], uid, gid, env, atTheEnd = onTestFinished } = as;
    const task = JSON.stringify({ packageDir: openPackage(), ...options, uid, gid });
    const words = [...prefix, process.execPath, "--import", HOOKS, SCRIPT, task];
    const [command = "", ...args] = words;
    this.#child = spawn(command, args, {
      cwd: "/",
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...(env ?? process.env), ...withCompileCache() },
    });
    this.#child.stdin.on("error", () => {});
    createInterface(this.#child.stdout).on("line", (line) => {
      this.#messages.push(JSON.parse(line));
      this.#wake();
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.complaints += text;
    });
    this.#child.once("close", () => this.#wake());
    atTheEnd(async () => {
      this.#child.kill("SIGKILL");
      await this.ended();
      await endServersIn(options.dataDir);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get said(): readonly Message[] {
    return this.#messages;
  }

  /** The first message that has the field. Fails if the process ends without it. */
  async says<Field extends keyof Message>(field: Field): Promise<NonNullable<Message[Field]>> {
    for (;;) {
      const value = this.#messages.find((message) => message[field] !== undefined)?.[field];
      if (value !== undefined && value !== null) return value;
      if (this.#ended())
        throw new Error(`ended without "${field}": ${JSON.stringify(this.#messages)} ${this.complaints}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async stop(): Promise<void> {
    this.#child.stdin.write("stop\n");
    await this.ended();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended();
  }

  /** Throws an uncaught error, as a defect would. */
  async crash(): Promise<void> {
    this.#child.stdin.write("crash\n");
    await this.ended();
  }

  /** The exit code, or the signal. */
  async ended(): Promise<number | string | null> {
    if (!this.#ended()) await once(this.#child, "close");
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  #ended(): boolean {
    return this.#child.stdout.closed && (this.#child.exitCode !== null || this.#child.signalCode !== null);
  }
}
