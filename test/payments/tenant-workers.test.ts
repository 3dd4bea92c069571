import { describe, expect, it } from "vitest";
import { newTenantId, type TenantId } from "../../src/base/ids.js";
import { TenantWorkers } from "../../src/payments/tenant-workers.js";

/** Workers whose work ends when the test ends it. */
function workers() {
  const running: {
    readonly tenantId: TenantId;
    readonly signal: AbortSignal;
    readonly end: (error?: Error) => void;
  }[] = [];
  const failures: unknown[] = [];
  const all = new TenantWorkers(
    (tenantId, signal) =>
      new Promise<void>((resolve, reject) =>
        running.push({ tenantId, signal, end: (error) => (error ? reject(error) : resolve()) }),
      ),
    (_, error) => failures.push(error),
  );
  return { all, running, failures };
}
/** Lets everything go on that waits for nothing else. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("work for tenants", () => {
  it("runs once at a time for each tenant, and once more if it was asked for meanwhile", async () => {
    const { all, running } = workers();
    const tenantId = newTenantId();
    for (let wake = 0; wake < 5; wake += 1) all.wake(tenantId);
    expect(running).toHaveLength(1);
    running[0]?.end();
    await settled();
    expect(running).toHaveLength(2);
    running[1]?.end();
    await settled();
    expect(running).toHaveLength(2);
    all.wake(tenantId);
    expect(running).toHaveLength(3);
  });

  it("runs for 16 tenants at a time; the job finds the others later", async () => {
    const { all, running } = workers();
    const tenants = Array.from({ length: 20 }, newTenantId);
    for (const tenantId of tenants) all.wake(tenantId);
    expect(running.map(({ tenantId }) => tenantId)).toEqual(tenants.slice(0, 16));
    running[3]?.end();
    await settled();
    for (const tenantId of tenants) all.wake(tenantId);
    // The tenant whose work ended comes first among those that are woken again.
    expect(running.at(-1)?.tenantId).toBe(tenants[3]);
  });

  it("may fail for a tenant, and neither later work nor other tenants notice", async () => {
    const { all, running, failures } = workers();
    const [one, other] = [newTenantId(), newTenantId()];
    for (const tenantId of [one, other, one]) all.wake(tenantId);
    const error = new Error("a defect");
    running[0]?.end(error);
    await settled();
    expect(failures).toEqual([error]);
    expect(running.map(({ tenantId }) => tenantId)).toEqual([one, other, one]);
  });

  it("ends with the server: nothing more begins, and what runs is waited for", async () => {
    const { all, running } = workers();
    const tenantId = newTenantId();
    all.wake(tenantId);
    all.wake(tenantId);
    let isStopped = false;
    const stopped = all.stop().then(() => {
      isStopped = true;
    });
    expect(running[0]?.signal.aborted).toBe(true);
    all.wake(newTenantId());
    await settled();
    expect([isStopped, running.length]).toEqual([false, 1]);
    running[0]?.end();
    await stopped;
    expect(running).toHaveLength(1);
  });
});
