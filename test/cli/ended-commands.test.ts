import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandLine } from "../../src/store/embedded/postgres-server.js";
import { cloakroom } from "../support/command.js";
import { copyMigratedData } from "../support/migrated-data.js";
import { newDirectory } from "../support/new-directory.js";

/** The source of a module with what happens when its process first sends a message with this text to the database. */
const happeningAt = (statement: string, what: string) => `
import { Socket } from "node:net";
const write = Socket.prototype.write;
let isSent = false;
Socket.prototype.write = function (chunk, ...rest) {
  if (!isSent && Buffer.from(chunk).includes(${JSON.stringify(statement)})) {
    isSent = true;
    ${what};
  }
  return write.call(this, chunk, ...rest);
};
`;

describe("an operator's command that is cut off", () => {
  const directory = newDirectory();
  const temporary = join(directory, "temporary");
  const environment = { CLOAKROOM_DATA_DIR: join(directory, "vault"), TMPDIR: temporary };
  const backups = join(directory, "backups");
  beforeAll(async () => {
    for (const folder of [temporary, backups, join(directory, "out")]) mkdirSync(folder);
    copyMigratedData(environment.CLOAKROOM_DATA_DIR);
    expect((await cloakroom(environment, "init")).code).toBe(0);
    expect((await cloakroom(environment, "backup", "--to", backups)).code).toBe(0);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const started = (preloaded: string, ...args: readonly string[]) => {
    const preload = join(directory, "preload.mjs");
    writeFileSync(preload, preloaded);
    const env = { PATH: process.env.PATH, ...environment };
    const words = ["--import", preload, "dist/src/main.js", ...args];
    return spawn(process.execPath, words, { env, stdio: ["ignore", "ignore", "pipe"] });
  };
  const ended = async (signal: NodeJS.Signals, statement: string, ...args: readonly string[]) => {
    const child = started(happeningAt(statement, `process.kill(process.pid, "${signal}")`), ...args);
    const [[code]] = await Promise.all([once(child, "exit"), text(child.stderr)]);
    return code;
  };
  /** PostgreSQL servers whose data is in the directory. */
  const servers = () =>
    readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandLine(Number(pid)).includes(`-D ${directory}/`));

  it("says in one line that the database has closed its connection", async () => {
    const file = join(directory, "out", "vault.export");
    const child = started(happeningAt("token_terms", "this.destroy()"), "export", "--file", file);
    const [[code], said] = await Promise.all([once(child, "exit"), text(child.stderr)]);
    expect([code, said.trimEnd().split("\n")]).toEqual([
      1,
      [expect.stringMatching(/^The connection to the database was lost \(CONNECTION_CLOSED\)\./)],
    ]);
    expect(readdirSync(join(directory, "out"))).toEqual([]);
  });

  it.each<[NodeJS.Signals, number]>([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ])("leaves no part of a file and no database running at %s", async (signal, code) => {
    const out = join(directory, "out");
    expect(await ended(signal, "token_terms", "export", "--file", join(out, "vault.export"))).toBe(code);
    expect(readdirSync(out)).toEqual([]);
    await expect.poll(servers).toEqual([]);
  });

  it("leaves nothing of the vault that a verification has restored", async () => {
    expect(await ended("SIGTERM", "cloakroom_app", "backup", "verify", "--from", backups)).toBe(143);
    expect(readdirSync(temporary).filter((name) => name.startsWith("cloakroom-verify"))).toEqual([]);
    await expect.poll(servers).toEqual([]);
  });
});

describe("a command whose output is lost", () => {
  const directory = newDirectory();
  const environment = { PATH: process.env.PATH, CLOAKROOM_DATA_DIR: join(directory, "vault") };
  beforeAll(() => copyMigratedData(environment.CLOAKROOM_DATA_DIR));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const init = (output: number | "pipe"): ChildProcess =>
    spawn(process.execPath, ["dist/src/main.js", "init"], { env: environment, stdio: ["ignore", output, "pipe"] });

  it("goes on to its end if it is only messages, which no program reads any more", async () => {
    const child = init("pipe");
    child.stderr?.destroy();
    if (!child.stdout) throw new Error("there is no pipe");
    const [shown, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect([code, shown]).toEqual([0, expect.stringContaining("ready: true")]);
  });

  it.runIf(process.platform === "linux")("says so if the disk is full", async () => {
    const child = init(openSync("/dev/full", "w"));
    if (!child.stderr) throw new Error("there is no pipe");
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    expect([code, said]).toEqual([1, expect.stringContaining("Standard output cannot be written (ENOSPC)")]);
  });
});
