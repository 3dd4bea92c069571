import { execFile, spawn } from "node:child_process";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `cloakroom` as an operator does: in its own process with this environment. */
export function cloakroom(environment: Record<string, string>, ...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, ...environment };
    execFile(process.execPath, ["dist/src/main.js", ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}

/** The inputs of a command besides its arguments. */
export interface CommandFeed {
  /** Lines for its standard input, which then ends. */
  readonly lines: readonly string[];
  /** A module that is loaded first. */
  readonly preload?: string;
}

/** Runs `cloakroom` with something on its standard input. The code is 137 if it was killed, as in a shell. */
export function cloakroomFed(
  environment: Readonly<Record<string, string>>,
  { lines, preload }: CommandFeed,
  ...args: readonly string[]
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const flags = preload === undefined ? [] : ["--import", preload];
    const child = spawn(process.execPath, [...flags, "dist/src/main.js", ...args], {
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
