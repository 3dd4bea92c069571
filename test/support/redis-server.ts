import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** A Redis as operators run it, for one test, that keeps nothing on disk. */
export class RedisServer implements AsyncDisposable {
  readonly #port: number;
  readonly #password: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, password: string) {
    this.#port = port;
    this.#password = password;
  }

  static async start(password: string): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), password);
    await server.startAgain();
    return server;
  }

  get url(): string {
    return `redis://:${this.#password}@127.0.0.1:${this.#port}`;
  }

  /** On the same port, empty. */
  async startAgain(): Promise<void> {
    const settings = ["--port", String(this.#port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    const child = spawn("redis-server", [...settings, "--requirepass", this.#password], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    let said = "";
    for await (const chunk of child.stdout) {
      said += String(chunk);
      if (/ready to accept connections/i.test(said)) break;
    }
    if (!/ready to accept/i.test(said)) throw new Error(`redis-server did not start:\n${said}`);
    child.stdout.resume();
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  }

  /** It accepts connections and sends nothing while `work` runs. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    this.#process?.kill("SIGSTOP");
    try {
      await pause(50);
      return await work();
    } finally {
      this.#process?.kill("SIGCONT");
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
