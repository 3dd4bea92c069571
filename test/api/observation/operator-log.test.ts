import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, describe, expect, it } from "vitest";
import { createOperatorLog, type LogFields, type OperatorLog } from "../../../src/api/observation/operator-log.js";
import { LOG_LEVELS, type LogLevel } from "../../../src/settings/groups/records.js";

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

/** A log in memory, and its lines. */
function logAt(level: LogLevel, process?: number) {
  const lines: string[] = [];
  return { lines, log: createOperatorLog(level, process, { write: (line) => void lines.push(line) }) };
}

/** Lines with fields in the order of the list, and of a process of several. */
function linesWith(text: fc.Arbitrary<string>) {
  const number = fc.option(fc.oneof(fc.integer(), fc.double()), { nil: undefined });
  const fields: fc.Arbitrary<LogFields> = fc.record(
    { trace_id: text, rpc: text, status: number, duration_ms: number, reason: text, cause: text, port: number },
    { noNullPrototype: true },
  );
  return fc.record({ fields, message: text, process: fc.option(fc.nat(64), { nil: undefined }) });
}

describe("a line", () => {
  const odd = fc.string({ unit: fc.constantFrom('"', "\\", "\n", "\u007f", "\u2028", "\ud800", "👍", "a") });
  const text = fc.oneof(odd, fc.string({ unit: "binary" }));

  it("is JSON of the fields that are given, whatever they hold", () => {
    fc.assert(
      fc.property(linesWith(text), ({ fields, message, process }) => {
        const { lines, log } = logAt("info", process);
        log.error(fields, message);
        expect(lines.join("").indexOf("\n")).toBe(lines.join("").length - 1);
        const { time, ...found } = JSON.parse(lines.join(""));
        expect(new Date(time).toISOString()).toBe(time);
        expect(found).toEqual(JSON.parse(JSON.stringify({ level: 50, process, ...fields, msg: message })));
      }),
    );
  });

  it("is what pino writes of valid text, byte for byte", () => {
    const valid = text.map((each) => each.toWellFormed());
    fc.assert(
      fc.property(linesWith(valid), ({ fields, message, process }) => {
        const { lines, log } = logAt("info", process);
        log.warn(fields, message);
        const { time } = JSON.parse(lines.join(""));
        const expected: string[] = [];
        const options = { base: process === undefined ? null : { process }, timestamp: () => `,"time":"${time}"` };
        pino(options, { write: (line) => void expected.push(line) }).warn(fields, message);
        expect(lines).toEqual(expected);
      }),
    );
  });

  it("has no field that is not listed", () => {
    const { lines, log } = logAt("info");
    const given = { rpc: "GetToken", url: "https://example.com", level: 10, msg: "x" };
    log.info(given, "served");
    expect(Object.keys(JSON.parse(lines.join("")))).toEqual(["level", "time", "rpc", "msg"]);
  });

  it.each(LOG_LEVELS)("is written from the level %s on", (level) => {
    const { lines, log } = logAt(level);
    const names: readonly (keyof OperatorLog)[] = ["debug", "info", "warn", "error"];
    for (const name of names) log[name]({}, name);
    const from = level === "silent" ? names.length : names.indexOf(level);
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(names.slice(from));
  });
});

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
