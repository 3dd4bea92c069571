// Computes: 12 s
import { afterEach, describe, expect, test } from "vitest";
import type { SandboxOptions } from "../../src/sandbox/options.js";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.js";
import { exporting, type OpenSandbox, openSandbox } from "./support/open-sandbox.js";

/** One tenant attacks; the code of others always compiles and runs. */
const open: OpenSandbox[] = [];
function opened(options?: SandboxOptions): OpenSandbox {
  const sandbox = openSandbox(options);
  open.push(sandbox);
  return sandbox;
}
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox[Symbol.asyncDispose]();
});

/** Compiling it takes seconds, and the engine does not check the time meanwhile. */
const slowToCompile = (revision = 0) => `/* ${revision} */ ${"/\\p{RGI_Emoji}/v;".repeat(2_800)}`;
const stubborn = (revision = 0) => exporting(`() => new Array(2 ** 28).join() || ${revision}`);
const stubbornLimits = { wallMs: 200, loadMs: 100 };
const attacker = "attacker";

const heldMs = async (compiling: Promise<unknown>) => {
  const error = await compiling.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof SandboxUnavailable ? error.heldMs : undefined;
};

describe("code that does not compile in time", () => {
  test("fails with an error of that code", async () => {
    const sandbox = opened();
    expect(await sandbox.compile(slowToCompile(), attacker)).toEqual({
      message: "The code takes longer than 1000 ms to compile.",
      line: 1,
      column: 1,
    });
    expect(sandbox.incidents).toEqual([{ type: "thread_ended", tenantId: attacker, functionId: "compile" }]);
    expect(sandbox.sandbox.metrics).toMatchObject({ threadsEnded: 1, runnersEnded: 0 });
  });

  test("ends alone: the runs of its tenant and of others continue", async () => {
    const sandbox = opened({ threads: 4, kill: { graceMs: 100 } });
    const waiting = exporting("() => new Promise((done) => setTimeout(done, 4_000, 'done'))");
    const runs = [attacker, "other"].map((tenantId) => sandbox.value(waiting, { key: { tenantId } }));
    await sandbox.value(exporting("() => 1"), { key: { tenantId: attacker } });
    expect((await sandbox.compile(slowToCompile(), attacker))?.message).toContain("takes longer");
    expect(await Promise.all(runs)).toEqual(["done", "done"]);
  });

  test("eight at a time do not stop another tenant's code from compiling and running", async () => {
    const sandbox = opened();
    await sandbox.compile("1");
    let attacking = true;
    const attack = Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        for (let revision = 0; revision < 4; revision += 1) {
          await sandbox.compile(slowToCompile(8 * revision + index), attacker).catch(() => {});
        }
      }),
    ).finally(() => {
      attacking = false;
    });
    let probes = 0;
    do {
      expect(await sandbox.compile(`module.exports = () => ${probes};`, "other")).toBeUndefined();
      expect(await sandbox.value(exporting(`() => ${probes}`), { key: { tenantId: "other" } })).toBe(probes);
      probes += 1;
    } while (attacking);
    await attack;
    // Behind the code that takes a second to compile there would be one probe for each of the three.
    expect(probes).toBeGreaterThan(3);
    expect(sandbox.sandbox.metrics.runnersEnded).toBe(0);
    // The third opens the circuit breaker, and those that wait by then are not compiled any more.
    expect(sandbox.incidents.filter(({ type }) => type === "thread_ended")).toHaveLength(3);
  });

  test("repeatedly is no longer compiled for a while; the tenant's existing code still runs", async () => {
    const sandbox = opened({ breaker: { byFunction: { failures: 2, ms: 60_000 } } });
    for (let i = 0; i < 2; i += 1) expect(await sandbox.compile(slowToCompile(i), attacker)).toBeDefined();
    expect(await heldMs(sandbox.compile("1", attacker))).toBeGreaterThan(0);
    expect(await sandbox.value(exporting("() => 1"), { key: { tenantId: attacker } })).toBe(1);
    expect(await sandbox.compile("1", "other")).toBeUndefined();
    expect(sandbox.incidents).toContainEqual({ type: "function_held", tenantId: attacker, functionId: "compile" });
  });
});

describe("code whose thread has to be killed", () => {
  const attack = (sandbox: OpenSandbox, functionId: string, revision: number) =>
    sandbox.run(stubborn(revision), {
      key: { tenantId: attacker, functionId, configurationVersion: revision },
      limits: stubbornLimits,
    });

  test("opens the circuit breaker of its function in any revision; other functions still run", async () => {
    const breaker = { byFunction: { failures: 2, ms: 60_000 } };
    const sandbox = opened({ kill: { graceMs: 100 }, breaker });
    for (let revision = 0; revision < 2; revision += 1)
      expect(await attack(sandbox, "f", revision)).toMatchObject({ reason: "timeout" });
    expect(await attack(sandbox, "f", 2)).toMatchObject({ kind: "failed", reason: "held", retryable: true });
    expect(await sandbox.value(exporting("() => 1"), { key: { tenantId: attacker, functionId: "g" } })).toBe(1);
    expect(sandbox.incidents.map(({ type }) => type)).toEqual(["thread_ended", "thread_ended", "function_held"]);
    expect(sandbox.sandbox.metrics).toMatchObject({ threadsEnded: 2, runs: { timeout: 2, held: 1, returned: 1 } });
  });

  test("opens its tenant's circuit breaker, however many functions it uses; other tenants' code still runs", async () => {
    const sandbox = opened({ kill: { graceMs: 100 }, breaker: { byTenant: { failures: 3, ms: 60_000 } } });
    for (let i = 0; i < 3; i += 1) expect(await attack(sandbox, `f${i}`, 0)).toMatchObject({ reason: "timeout" });
    expect(await attack(sandbox, "another", 0)).toMatchObject({ reason: "held" });
    expect(await heldMs(sandbox.compile("1", attacker))).toBeGreaterThan(0);
    expect(await sandbox.value(exporting("() => 1"))).toBe(1);
    expect(await sandbox.compile("1")).toBeUndefined();
    expect(sandbox.incidents.at(-1)).toEqual({ type: "tenant_held", tenantId: attacker });
  });

  test("may run again after the period", async () => {
    const breaker = { byFunction: { failures: 1, ms: 500 } };
    const sandbox = opened({ kill: { graceMs: 100 }, breaker });
    expect(await attack(sandbox, "f", 0)).toMatchObject({ reason: "timeout" });
    expect(await attack(sandbox, "f", 1)).toMatchObject({ reason: "held" });
    const key = { tenantId: attacker, functionId: "f" };
    await expect.poll(async () => (await sandbox.run(exporting("() => 1"), { key })).kind).toBe("returned");
  });
});
