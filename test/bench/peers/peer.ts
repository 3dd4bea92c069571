import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import type { Plan, Target } from "../measure.js";

/** Milliseconds until a peer must accept requests. */
const START_MS = 30_000;

/** Another vault, whose program an operator has built. */
export interface Peer {
  readonly name: string;
  /** The program's file name in the operator's directory. */
  readonly program: string;
  /** Starts it on an empty database, with one stored card. @param directory empty, for its files. */
  start(program: string, directory: string): Promise<RunningPeer>;
}

/** A peer that accepts requests. */
export interface RunningPeer extends AsyncDisposable {
  readonly target: Target;
  readonly create: PeerRequest;
  readonly read: PeerRequest;
}

/** An operation, and the status of its success. */
export type PeerRequest = Pick<Plan, "request" | "expect">;

export interface PeerProcess extends AsyncDisposable {
  readonly pid: number;
}

/** Runs a peer's program until it is disposed of. What it prints is shown only if it ends by itself. */
export async function startPeer(
  program: string,
  args: readonly string[],
  { cwd, port }: { readonly cwd: string; readonly port: number },
): Promise<PeerProcess> {
  const started = spawn(program, args, { cwd, env: { PATH: process.env.PATH }, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  for (const output of [started.stdout, started.stderr]) {
    output.setEncoding("utf8").on("data", (text: string) => {
      printed = `${printed}${text}`.slice(-4_000);
    });
  }
  const failed = new Promise<never>((_, reject) => {
    started.once("error", reject);
    started.once("exit", (code) => reject(new Error(`${program} ended with ${code}: ${printed}`)));
  });
  await Promise.race([failed, untilItListens(port)]);
  failed.catch(() => {});
  return { pid: started.pid ?? 0, [Symbol.asyncDispose]: () => ended(started) };
}

async function untilItListens(port: number): Promise<void> {
  const until = performance.now() + START_MS;
  while (performance.now() < until) {
    try {
      // Any response will do.
      await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
      return;
    } catch {
      await pause(50);
    }
  }
  throw new Error(`nothing listened on port ${port} within ${START_MS / 1_000} s`);
}

async function ended(started: ChildProcess): Promise<void> {
  if (started.exitCode !== null || started.signalCode !== null) return;
  started.kill("SIGTERM");
  const exited = once(started, "exit");
  const isOver = await Promise.race([exited.then(() => true), pause(5_000).then(() => false)]);
  if (!isOver) started.kill("SIGKILL");
  await exited;
}

/** A request while a peer is being set up. @throws Error with the response if it is no success. */
export async function ask(
  port: number,
  path: string,
  {
    method = "POST",
    headers = {},
    body,
  }: { method?: string; headers?: Readonly<Record<string, string>>; body: object },
): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

/** The text at a path of keys in a response. @throws Error if there is none. */
export function textIn(response: unknown, ...keys: readonly (string | number)[]): string {
  const found = keys.reduce<unknown>((value, key) => Object(value)[key], response);
  if (typeof found !== "string")
    throw new Error(`a response has no text at ${keys.join(".")}: ${JSON.stringify(response)}`);
  return found;
}
