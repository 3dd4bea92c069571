import { afterEach, describe, expect, test } from "vitest";
import { SharedRunnerHost } from "../../src/processes/shared-runner-host.js";
import type { CodeSource } from "../../src/sandbox/run.js";
import type { SharedRunnerAccess } from "../../src/sandbox/shared-runner.js";
import { exporting, type OpenSandbox, openSandbox, tenant } from "./support/open-sandbox.js";

/** The sandboxes of two processes that use one runner. */
class Processes implements AsyncDisposable {
  readonly runner = new SharedRunnerHost({ threads: 2, kill: { graceMs: 100 } }, { warn: () => {} });
  readonly #counting: ((source: CodeSource) => void)[] = [];
  readonly first = this.#open(0);
  readonly second = this.#open(1);

  #open(number: number): OpenSandbox {
    const sharedRunner: SharedRunnerAccess = {
      socketPath: this.runner.socketPath,
      kill: (reason) => this.runner.kill(reason),
      reportFailure: (source) => {
        for (const [other, count] of this.#counting.entries()) if (other !== number) count(source);
      },
      onFailure: (count) => {
        this.#counting[number] = count;
      },
    };
    return openSandbox({ sharedRunner, kill: { graceMs: 100 } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.first[Symbol.asyncDispose]();
    await this.second[Symbol.asyncDispose]();
    await this.runner.close();
  }
}

let processes: Processes | undefined;
afterEach(() => processes?.[Symbol.asyncDispose]());

describe("a runner that two processes share", () => {
  test("keeps a function warm for both", async () => {
    processes = new Processes();
    const { first, second } = processes;
    const code = exporting("() => 1");
    expect(await first.value(code)).toBe(1);
    expect(await second.value(code)).toBe(1);
    expect([first, second].map(({ sandbox }) => sandbox.metrics.coldStarts)).toEqual([1, 0]);
  });

  test("returns results and host calls to the process that asked", async () => {
    processes = new Processes();
    const { first, second } = processes;
    const code = exporting("async ({ n }) => (await (await fetch('https://x.example')).text()) + n");
    const hosts = (name: string) => ({
      fetch: async () => ({ status: 200, statusText: "", headers: [], body: { text: name } }),
    });
    const calls = Array.from({ length: 40 }, (_, n) => {
      const [sandbox, name] = n % 2 === 0 ? ([first, "first"] as const) : ([second, "second"] as const);
      return sandbox.value(code, { args: { n }, hosts: hosts(name) });
    });
    expect(await Promise.all(calls)).toEqual(calls.map((_, n) => `${n % 2 === 0 ? "first" : "second"}${n}`));
  });

  test("cancels the runs of a process that has ended, and serves the other", async () => {
    processes = new Processes();
    const { first, second, runner } = processes;
    const endless = exporting("() => new Promise((done) => setTimeout(done, 20_000))");
    const lost = Array.from({ length: 32 }, () => first.run(endless));
    await second.value(exporting("() => 1"), { key: { tenantId: "other" } });
    const queued = () => expect.poll(() => runner.metrics.runner?.queued);
    await queued().toBeGreaterThan(0);
    await first.sandbox.close();
    for (const { kind } of await Promise.all(lost)) expect(kind).toBe("failed");
    // The runner notices the end of a process on its own socket. Until then the queue of the tenant is full.
    await queued().toBe(0);
    // The threads of the runs are ended and started again, one after the other.
    const run = () => second.run(exporting("() => 2"));
    await expect.poll(run).toMatchObject({ kind: "returned", value: 2 });
  });

  test("fails the runs of both if it is killed, and the next one serves both", async () => {
    processes = new Processes();
    const { first, second, runner } = processes;
    const waiting = exporting("() => new Promise((done) => setTimeout(done, 20_000))");
    await Promise.all([first, second].map(({ value }) => value(exporting("() => 1"))));
    const runs = [first.run(waiting), second.run(waiting)];
    await first.value(exporting("() => 1"));
    await second.value(exporting("() => 1"));
    runner.kill("silent");
    for (const outcome of await Promise.all(runs)) {
      expect(outcome).toMatchObject({ kind: "failed", reason: "runner_restarted" });
    }
    expect(await first.value(exporting("() => 3"))).toBe(3);
    expect(await second.value(exporting("() => 4"))).toBe(4);
    expect(runner.metrics.runnersEnded).toBe(1);
  });

  test("blocks code that kills threads for both, whichever of them ran it", async () => {
    processes = new Processes();
    const { first, second } = processes;
    const stubborn = exporting("() => new Array(2 ** 28).join()");
    const limits = { wallMs: 200, loadMs: 100 };
    for (const process of [first, second, first]) {
      expect(await process.run(stubborn, { limits })).toMatchObject({ kind: "failed", reason: "timeout" });
    }
    for (const process of [first, second]) {
      expect(await process.run(stubborn, { limits })).toMatchObject({ kind: "failed", reason: "held" });
      expect(process.incidents).toContainEqual({
        ...{ type: "function_held", tenantId: tenant.tenantId, functionId: tenant.functionId },
      });
    }
  });
});
