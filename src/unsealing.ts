import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import Fastify from "fastify";
import { registerHealth } from "./api/health.js";
import type { Config } from "./config.js";
import type { RootKey } from "./crypto/root-key.js";
import { Sensitive } from "./crypto/sensitive.js";
import { readShare, ShareCollection, ShareError } from "./crypto/shares.js";
import { listenAt } from "./listening.js";
import { ConfigError } from "./settings/environment.js";

/** A root key that is kept in shares, and is to be put together. */
export interface NeededKey {
  readonly id: string;
  readonly threshold: number;
  /** Whether this is the key: shares that do not belong together give another. */
  fits(key: RootKey): Promise<boolean>;
}

export type Unseal = (needed: NeededKey) => Promise<RootKey>;

/** What a sealed server answers to a share. */
export interface ShareAnswer {
  readonly held: number;
  readonly needed: number;
  readonly unsealed: boolean;
  readonly problem?: string;
}

/** The server was told to stop while it waited for shares. */
export class StoppedSealed extends Error {
  override readonly name = "StoppedSealed";
}

/** sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the closing zero. */
const LONGEST_SOCKET_PATH = 103;
const LONGEST_LINE = 1_000;

/**
 * Where a sealed server takes shares.
 * @throws {ConfigError} where the path is too long for a socket.
 */
export function unsealSocketOf({ dataDir }: Config): string {
  const path = join(dataDir, "unseal.sock");
  if (Buffer.byteLength(path) <= LONGEST_SOCKET_PATH) return path;
  throw new ConfigError(`CLOAKROOM_DATA_DIR is too long for the socket ${path}: give it a shorter path.`);
}

/**
 * Waits for shares on a local socket that only this user may open, and answers the health of a sealed server meanwhile:
 * /healthz is well, /readyz is not.
 */
export function waitForShares(config: Config, say: (line: string) => void, stopping: AbortSignal): Unseal {
  return async (needed) => {
    await using sealed = new AsyncDisposableStack();
    const path = unsealSocketOf(config);
    const { promise, resolve, reject } = Promise.withResolvers<RootKey>();
    const desk = new ShareDesk(needed, resolve);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rm(path, { force: true });
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => socket.destroy());
      serveShares(socket, desk);
    });
    await listen(server, path);
    sealed.defer(() => closeServer(server, sockets));
    for (const [host, port] of [
      [config.host, config.port],
      [config.adminHost, config.adminPort],
    ] as const) {
      const app = Fastify({ logger: false });
      registerHealth(app, { draining: stopping, check: async () => ({ root_key: "sealed" }) });
      sealed.defer(() => app.close());
      const url = await listenAt(host === config.host && port === config.port ? "" : "ADMIN_", { host, port }, () =>
        app.listen({ host, port }),
      );
      say(`Sealed: health at ${url}/readyz`);
    }
    say(
      `The root key ${needed.id} is kept in shares. Hand in ${needed.threshold} of them, one per line: cloakroom keys unseal`,
    );
    const stop = () => reject(new StoppedSealed("stopped while sealed"));
    stopping.addEventListener("abort", stop);
    sealed.defer(() => stopping.removeEventListener("abort", stop));
    if (stopping.aborted) stop();
    const key = await promise;
    say("Unsealed: starting.");
    return key;
  };
}

/** Takes the shares of a command from its standard input. */
export async function sharesOnInput(needed: NeededKey): Promise<RootKey> {
  const missing = `The root key ${needed.id} is kept in shares, and this command needs it: give ${needed.threshold} of them on standard input, one per line.`;
  if (process.stdin.isTTY) throw new ShareError(missing);
  let found: RootKey | undefined;
  const desk = new ShareDesk(needed, (key) => {
    found = key;
  });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    const { problem } = await desk.take(new Sensitive(line));
    if (problem) throw new ShareError(problem);
    if (found) return found;
  }
  throw new ShareError(missing);
}

/** Takes shares one after the other, and hands over the key that they make. */
class ShareDesk {
  readonly #needed: NeededKey;
  readonly #collection: ShareCollection;
  readonly #done: (key: RootKey) => void;
  #last: Promise<unknown> = Promise.resolve();
  #isDone = false;

  constructor(needed: NeededKey, done: (key: RootKey) => void) {
    this.#needed = needed;
    this.#collection = new ShareCollection(needed.id);
    this.#done = done;
  }

  take(line: Sensitive<string>): Promise<ShareAnswer> {
    const next = this.#last.then(() => this.#take(line));
    this.#last = next;
    return next;
  }

  async #take(line: Sensitive<string>): Promise<ShareAnswer> {
    if (this.#isDone) return this.#answer();
    try {
      const key = await this.#collection.add(readShare(line));
      if (!key) return this.#answer();
      if (!(await this.#needed.fits(key))) {
        throw new ShareError("These shares do not give the root key of this database. All were dropped: start again.");
      }
      this.#isDone = true;
      this.#done(key);
      return this.#answer();
    } catch (error) {
      return { ...this.#answer(), problem: error instanceof ShareError ? error.message : "The share cannot be used." };
    }
  }

  #answer(): ShareAnswer {
    const { threshold } = this.#needed;
    return { held: this.#isDone ? threshold : this.#collection.held, needed: threshold, unsealed: this.#isDone };
  }
}

/** One share a line in, one answer a line out. */
function serveShares(socket: Socket, desk: ShareDesk): void {
  let size = 0;
  socket.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > LONGEST_LINE * 255) socket.destroy();
  });
  const lines = createInterface({ input: socket });
  lines.on("line", (line) => {
    if (line.length > LONGEST_LINE) {
      socket.destroy();
      return;
    }
    void desk.take(new Sensitive(line)).then((answer) => socket.write(`${JSON.stringify(answer)}\n`));
  });
}

async function listen(server: Server, path: string): Promise<void> {
  // The socket is made with what the mask leaves: nobody else may open it, not even for the moment before a chmod.
  const mask = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
  } finally {
    process.umask(mask);
  }
  await chmod(path, 0o600);
}

/** Answers that were written still leave. */
function closeServer(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.end();
    setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, 1_000).unref();
  });
}
