import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "cloakroom-log-"));
afterAll(() => rmSync(directory, { recursive: true }));

const MODULE = new URL("../../../src/api/observation/operator-log.ts", import.meta.url).href;

/**
 * Runs a program that logs, with its standard output in `file`.
 * @param program may call `say(text)`, `await turns()`, and `reopen(file)`, which switches its standard output to
 * another file.
 */
async function run(program: string, file: string): Promise<number | null> {
  const output = openSync(file, "a");
  const source = `
    import { closeSync, openSync } from "node:fs";
    import { setImmediate as turn } from "node:timers/promises";
    import { createOperatorLog } from ${JSON.stringify(MODULE)};
    const log = createOperatorLog("info");
    const say = (reason) => log.info({ reason }, "said");
    const turns = async () => { await turn(); await turn(); };
    const reopen = (file) => { closeSync(1); openSync(file, "a"); };
    ${program}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", output, "ignore"],
  });
  closeSync(output);
  const [code] = await once(child, "exit");
  return code;
}

function saidIn(file: string): string[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line).reason);
}

describe("the operator's log", () => {
  it("contains lines written in the last turn before the process exits", async () => {
    const file = join(directory, "end");
    expect(await run(`say("first"); await turns(); say("second"); say("third"); process.exit(3);`, file)).toBe(3);
    expect(saidIn(file)).toEqual(["first", "second", "third"]);
  });

  it("contains lines written before an uncaught error", async () => {
    const file = join(directory, "crash");
    expect(await run(`say("first"); throw new Error("uncaught");`, file)).toBe(1);
    expect(saidIn(file)).toEqual(["first"]);
  });
});

describe.runIf(existsSync("/dev/full"))("the operator's log on a full disk", () => {
  it("does not end the process, and writes its lines once there is space", async () => {
    const file = join(directory, "full");
    const program = `
      for (const text of ["first", "second", "third"]) { say(text); await turns(); }
      reopen(${JSON.stringify(file)});
      say("fourth");
      await turns();`;
    expect(await run(program, "/dev/full")).toBe(0);
    expect(saidIn(file)).toEqual(["first", "second", "third", "fourth"]);
  });

  it("buffers only a limited number of lines", async () => {
    const file = join(directory, "flood");
    const program = `
      const long = "x".repeat(1_000);
      for (let n = 0; n < 4_000; n += 1) { say(long); await turns(); }
      reopen(${JSON.stringify(file)});
      say(long);
      await turns();
      say("last" + long);`;
    expect(await run(program, "/dev/full")).toBe(0);
    expect(readFileSync(file).length).toBeLessThan(1.1 * 1024 * 1024);
    expect(saidIn(file).at(-1)).toMatch(/^last/);
  });
});
