import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import type { SandboxOptions } from "../../src/sandbox/options.js";
import { withCompileCache } from "../support/compile-cache.js";
import { exporting, type OpenSandbox, openSandbox } from "./support/open-sandbox.js";

/** Runner processes that this process started. */
function runners(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
        return (
          parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sandbox/runner.js")
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

const open: OpenSandbox[] = [];
function opened(options?: SandboxOptions): OpenSandbox {
  const sandbox = openSandbox(options);
  open.push(sandbox);
  return sandbox;
}
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox[Symbol.asyncDispose]();
});

/** A host that does not answer, and the moment of its first call. */
function silentHost() {
  const { promise: called, resolve } = Promise.withResolvers<void>();
  const bt = () => {
    resolve();
    return new Promise<null>(() => {});
  };
  return { bt, called };
}

async function runningPid(sandbox: OpenSandbox): Promise<number> {
  expect(await sandbox.value(exporting("() => 1"))).toBe(1);
  const [pid] = runners();
  if (pid === undefined) throw new Error("no runner was found");
  return pid;
}

describe("the runner process", () => {
  test("inherits nothing of the service: no environment, no open files but its socket, no privileges", async () => {
    const sandbox = opened();
    process.env.SANDBOX_TEST_SECRET = "of the service";
    const pid = await runningPid(sandbox).finally(() => delete process.env.SANDBOX_TEST_SECRET);
    expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toBe("");
    const targets = readdirSync(`/proc/${pid}/fd`).map((fd) =>
      execFileSync("readlink", [`/proc/${pid}/fd/${fd}`], { encoding: "utf8" }).trim(),
    );
    const outside = targets.filter((target) => !/^(\/dev\/null|anon_inode:|pipe:)/.test(target));
    expect(outside).toHaveLength(1);
    expect(outside[0]).toMatch(/^socket:/);
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    expect(command).toContain("--permission");
    expect(
      command.filter((argument) => argument.startsWith("--allow-fs-write") || argument.startsWith("--allow-child")),
    ).toEqual([]);
  });

  test("leads its own process group, and exits when the sandbox is closed", async () => {
    const sandbox = opened();
    const pid = await runningPid(sandbox);
    const [, group] = /^NSpgid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    expect(Number(group)).toBe(pid);
    await sandbox[Symbol.asyncDispose]();
    expect(runners()).toEqual([]);
  });

  test("exits by itself when the service is gone", async () => {
    const script = `
      import { createSandbox } from "./src/sandbox/sandbox.ts";
      const sandbox = createSandbox({ threads: 1 });
      await sandbox.compile("a tenant", "1");
      console.log("ready");
      setInterval(() => {}, 1000);`;
    const { spawn } = await import("node:child_process");
    const service = spawn(
      process.execPath,
      ["--import", "./test/store/embedded/support/run-typescript.mjs", "--input-type=module", "-e", script],
      { env: { ...process.env, ...withCompileCache() } },
    );
    await new Promise((resolve, reject) => {
      service.stdout.once("data", resolve);
      service.once("exit", () => reject(new Error("the service did not start")));
    });
    const child = Number(readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, "utf8").trim());
    expect(child).toBeGreaterThan(0);
    service.kill("SIGKILL");
    await expect.poll(() => isAlive(child)).toBe(false);
  });
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("a runner that dies", () => {
  test("during 50 calls: each ends, those in flight with a retryable error, and the next are served", async () => {
    const sandbox = opened();
    const pid = await runningPid(sandbox);
    let hostCalls = 0;
    const killed = Promise.withResolvers<void>();
    const bt = async () => {
      hostCalls += 1;
      await killed.promise;
      return null;
    };
    const calls = Array.from({ length: 50 }, (_, index) =>
      sandbox.run(exporting("async ({ bt, args }) => { await bt.tokenize(1); return args.n; }"), {
        args: { args: { n: index } },
        hosts: { bt },
        key: { tenantId: `tenant ${index % 5}` },
      }),
    );
    await expect.poll(() => hostCalls, { interval: 5 }).toBeGreaterThan(10);
    process.kill(pid, "SIGKILL");
    killed.resolve();
    const outcomes = await Promise.all(calls);
    expect(outcomes.length).toBe(50);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.kind === "returned") expect(outcome.value).toBe(index);
      else expect(outcome).toMatchObject({ kind: "failed", reason: "runner_restarted", retryable: true });
    }
    expect(outcomes.filter(({ kind }) => kind === "failed").length).toBeGreaterThan(10);
    expect(await sandbox.value(exporting("() => 2"))).toBe(2);
    expect(sandbox.incidents).toEqual([
      { type: "runner_exited", reason: "crashed", code: null, signal: "SIGKILL", runs: expect.any(Number) },
    ]);
    expect(sandbox.sandbox.metrics).toMatchObject({ runnersEnded: 1, underWay: 0 });
  });

  test("tells the hosts of its runs that no caller waits any more", async () => {
    const sandbox = opened();
    const pid = await runningPid(sandbox);
    const { promise: asked, resolve: ask } = Promise.withResolvers<AbortSignal>();
    const bt = (_method: unknown, _args: unknown, signal: AbortSignal) => {
      ask(signal);
      return new Promise<null>(() => {});
    };
    const call = sandbox.run(exporting("({ bt }) => bt.tokenize(1)"), { hosts: { bt } });
    const signal = await asked;
    process.kill(pid, "SIGKILL");
    expect(await call).toMatchObject({ reason: "runner_restarted" });
    expect(signal.aborted).toBe(true);
  });

  test("repeatedly: calls made meanwhile wait for the next one", async () => {
    const sandbox = opened();
    for (let round = 0; round < 3; round++) {
      const pid = await runningPid(sandbox);
      process.kill(pid, "SIGKILL");
      const outcome = await sandbox.run(exporting("() => 3"));
      if (outcome.kind === "failed") expect(outcome.reason).toBe("runner_restarted");
      else expect(outcome).toMatchObject({ value: 3 });
    }
    expect(sandbox.sandbox.metrics.runnersEnded).toBe(3);
  });

  test("is killed if it no longer responds", async () => {
    const sandbox = opened({ kill: { pingMs: 100, silenceMs: 500 } });
    const pid = await runningPid(sandbox);
    const call = sandbox.run(exporting("() => new Promise(() => setInterval(() => {}, 1_000))"));
    process.kill(pid, "SIGSTOP");
    expect(await call).toMatchObject({ kind: "failed", reason: "runner_restarted", retryable: true });
    expect(sandbox.incidents).toContainEqual(expect.objectContaining({ type: "runner_exited", reason: "silent" }));
    expect(await sandbox.value(exporting("() => 4"))).toBe(4);
  });

  test("runs in progress when the sandbox is closed fail, and later ones are refused", async () => {
    const sandbox = opened();
    await runningPid(sandbox);
    const { bt, called } = silentHost();
    const call = sandbox.run(exporting("({ bt }) => bt.tokenize(1)"), { hosts: { bt } });
    await called;
    await sandbox[Symbol.asyncDispose]();
    expect(await call).toMatchObject({ kind: "failed", retryable: true });
    expect(await sandbox.run(exporting("() => 1"))).toMatchObject({ kind: "failed", reason: "overloaded" });
    await expect(sandbox.compile("1")).rejects.toThrow("cannot compile code now");
    expect(sandbox.incidents).toEqual([]);
  });
});

describe("code that kills its thread", () => {
  test("fails the calls that share its thread, which may be retried", async () => {
    const sandbox = opened({ threads: 2, callsPerThread: 2, kill: { graceMs: 100 } });
    await runningPid(sandbox);
    const { bt, called } = silentHost();
    const waiting = sandbox.run(exporting("({ bt }) => bt.tokenize(1)"), { hosts: { bt } });
    await called;
    const limits = { wallMs: 200, loadMs: 100 };
    const stubborn = sandbox.run(exporting("() => new Array(2 ** 28).join()"), { limits });
    expect(await stubborn).toMatchObject({ reason: "timeout", retryable: false });
    expect(await waiting).toMatchObject({ kind: "failed", reason: "killed", retryable: true });
  });
});
