import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { startFlags } from "./start-flags.js";

/** One of several servers on a database, or one that is to be killed: its data outlives it. */
export interface Replica extends AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  /** Its complete output. */
  said(): string;
  /** Its exit code, once it has exited by itself; null if a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Ends it, and returns its exit code. Can be called again. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `cloakroom serve` with this environment, on its own port. `program` is the built one, or a copy of it. */
export async function startReplica(
  environment: Readonly<Record<string, string>>,
  program = "dist/src/main.js",
): Promise<Replica> {
  const child = spawn(process.execPath, [...startFlags(), program, "serve"], {
    env: {
      PATH: process.env.PATH,
      CLOAKROOM_PORT: "0",
      CLOAKROOM_ADMIN_PORT: "0",
      CLOAKROOM_RATE_LIMITS: "off",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  // Not "exit": output may still be in flight then.
  const ended = once(child, "close").then((): number | null => child.exitCode);
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Serving .* at (\S+)/.exec(said)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
  });
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return ended;
  };
  return {
    ...{ url, process: child, said: () => said, ended, stop },
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
