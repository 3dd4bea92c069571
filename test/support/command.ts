import { execFile, spawn } from "node:child_process";
import { resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { Terminal } from "../../src/base/terminal.js";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built program's commands. They load what they need at first use, once for all test files of a worker. */
const BUILT = pathToFileURL(resolve("dist/src/cli/run-command.js")).href;
const BUILT_TERMINAL = pathToFileURL(resolve("dist/src/base/terminal.js")).href;

/**
 * Runs `cloakroom` in this process, with this environment and an empty standard input: a tenth of the processor time of
 * {@link cloakroomProcess}. Its result has what an operator sees, and the exit code that the process would have.
 */
export function cloakroom(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<CommandResult> {
  return runHere(environment, [], args);
}

async function runHere(
  environment: Readonly<Record<string, string>>,
  lines: readonly string[],
  args: readonly string[],
): Promise<CommandResult> {
  const [stdout, stderr] = [new Written(), new Written()];
  const stdin = Readable.from(lines.map((line) => Buffer.from(`${line}\n`)));
  const terminal: Terminal = { stdin, stdout, stderr, env: { ...environment } };
  const { runCommand }: typeof import("../../src/cli/run-command.js") = await import(BUILT);
  const { onTerminal }: typeof import("../../src/base/terminal.js") = await import(BUILT_TERMINAL);
  await onTerminal(terminal, () => runCommand(args));
  return { code: Number(terminal.exitCode ?? 0), stdout: stdout.text, stderr: stderr.text };
}

/** Keeps what is written to it, as text. */
class Written extends Writable {
  readonly #chunks: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }
}

/**
 * Runs `cloakroom` as an operator does: in its own process with this environment. For what a test says about the
 * process: that its exit code arrives, `serve`, signals, and variables that libraries read, such as AWS_ACCESS_KEY_ID.
 */
export function cloakroomProcess(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<CommandResult> {
  return new Promise((done) => {
    const env = { PATH: process.env.PATH, ...environment };
    execFile(process.execPath, ["dist/src/main.js", ...args], { env }, (error, stdout, stderr) => {
      done({ code: typeof error?.code === "number" ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}

/** The inputs of a command besides its arguments. */
export interface CommandFeed {
  /** Lines for its standard input, which then ends. */
  readonly lines: readonly string[];
  /** A module that its own process loads first. Absent: the command runs in this process. */
  readonly preload?: string;
}

/** Runs `cloakroom` with something on its standard input. The code is 137 if it was killed, as in a shell. */
export function cloakroomFed(
  environment: Readonly<Record<string, string>>,
  { lines, preload }: CommandFeed,
  ...args: readonly string[]
): Promise<CommandResult> {
  if (preload === undefined) return runHere(environment, lines, args);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["--import", preload, "dist/src/main.js", ...args], {
      env: { PATH: process.env.PATH, ...environment },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk;
    });
    child.on("close", (code, signal) => resolve({ code: code ?? (signal === "SIGKILL" ? 137 : 1), stdout, stderr }));
    // It may end before it has read all.
    child.stdin.on("error", () => {});
    child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  });
}

/**
 * The source of a module that kills its process just before it sends a message that contains this text to the database.
 */
export const killedBefore = (statement: string) => `
import { Socket } from "node:net";
const write = Socket.prototype.write;
Socket.prototype.write = function (chunk, ...rest) {
  if (Buffer.from(chunk).includes(${JSON.stringify(statement)})) process.kill(process.pid, "SIGKILL");
  return write.call(this, chunk, ...rest);
};
`;
