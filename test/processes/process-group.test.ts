import cluster from "node:cluster";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createOperatorLog } from "../../src/api/observation/operator-log.js";
import { ProcessGroup } from "../../src/processes/process-group.js";
import { newDirectory } from "../support/new-directory.js";

/**
 * A process that takes requests at once, unless a file says how its start hangs: `blocked` does not respond to pings either.
 */
const PROGRAM = `
const { existsSync } = require("node:fs");
process.on("message", ({ type }) => {
  if (type === "ping") process.send({ type: "pong" });
  if (type === "stop") process.exit();
});
process.send({ type: "hello" });
if (existsSync("blocked")) for (;;);
if (!existsSync("waiting")) process.send({ type: "ready", url: "", said: [] });
`;
const LATER = { interval: 20 };
const NEVER = new AbortController().signal;

let directory: string;
let group: ProcessGroup;

beforeEach(() => {
  directory = newDirectory();
  writeFileSync(join(directory, "program.cjs"), PROGRAM);
  cluster.setupPrimary({ exec: join(directory, "program.cjs"), cwd: directory, execArgv: [] });
  group = new ProcessGroup({
    count: 2,
    log: createOperatorLog("error"),
    fork: () => cluster.fork(),
    onMessage: () => {},
    onEnd: () => {},
    times: { pingEvery: 50, maxSilent: 2_000, maxStarting: 4_000 },
  });
});
afterEach(async () => {
  await group.stop(5_000);
  rmSync(directory, { recursive: true, force: true });
});

it.each(["blocked", "waiting"])("kills and replaces a replacement that is %s before it takes requests", async (how) => {
  await group.start(NEVER);
  const [first] = group.ready;
  const file = join(directory, how);
  writeFileSync(file, "");
  first?.kill();
  await vi.waitFor(() => expect(group.ended).toBe(1), LATER);
  expect(group.ready).toHaveLength(1);
  // The replacement has seen the file, and only its successor starts without.
  await vi.waitFor(() => expect(group.ended).toBe(2), LATER);
  expect(existsSync(file)).toBe(true);
  rmSync(file);
  await vi.waitFor(() => expect(group.ready).toHaveLength(2), LATER);
});

it("stops the processes that serve already, although another one starts", async () => {
  const told = new AbortController();
  const starting = group.start(told.signal);
  const outcome = expect(starting).rejects.toMatchObject({ name: "StoppedAtStart" });
  await vi.waitFor(() => expect(group.ready).toHaveLength(1), LATER);
  writeFileSync(join(directory, "waiting"), "");
  told.abort();
  await outcome;
  await group.stop(5_000);
  expect(group.ready).toEqual([]);
});
