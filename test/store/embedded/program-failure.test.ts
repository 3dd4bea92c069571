import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { programFailure } from "../../../src/store/embedded/program-failure.js";

const run = promisify(execFile);

it.each([
  ["its exit code", process.execPath, ["-e", "process.exit(3)"], "exit code 3"],
  ["its signal", process.execPath, ["-e", "process.kill(process.pid, 'SIGKILL')"], "SIGKILL"],
  ["why it did not start", "/nowhere/initdb", [], "ENOENT"],
])("a program's failure is %s", async (_, program, args, expected) => {
  const failure: unknown = await run(program, args).catch((error: unknown) => error);
  expect(programFailure(failure)).toBe(expected);
});
