import { beforeAll, describe, expect, inject, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

let hostile: string;
let quiet: { readonly key: string; readonly id: string };
beforeAll(async () => {
  const [one, other] = await Promise.all([newTenant(), newTenant()]);
  hostile = (await one.backEnd()).key;
  quiet = await withToken(other);
});

async function withToken(tenant: TestTenant): Promise<typeof quiet> {
  const backEnd = await tenant.backEnd();
  const { body } = await backEnd("POST", "/tokens", { body: { type: "token", data: "a value" } });
  return { key: backEnd.key, id: String(body.id) };
}

const PATHS = Array.from({ length: 900 }, (_, n) => [`m${n}`, `{{ data | json: "$.a[?@.n > ${n % 50}].n" | size }}`]);
const MASKS = {
  type: "token",
  data: { a: Array.from({ length: 20 }, (_, n) => ({ n })) },
  mask: Object.fromEntries(PATHS),
};

/** So many creates, 16 of them at a time. @returns the statuses, as they arrive. */
function attack(body: unknown, requests: number): { readonly statuses: number[]; readonly over: Promise<unknown> } {
  const text = JSON.stringify(body);
  const headers = { "BT-API-KEY": hostile, "Content-Type": "application/json" };
  const statuses: number[] = [];
  let left = requests;
  const callers = Array.from({ length: 16 }, async () => {
    for (; left > 0; left -= 1) {
      const response = await fetch(`${inject("serverUrl")}/tokens`, { method: "POST", headers, body: text });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
  });
  return { statuses, over: Promise.all(callers) };
}

describe("a quiet tenant beside the heavy requests of another", () => {
  it("has at least as many requests answered, one after the other", async () => {
    const requests = 64;
    const { statuses, over } = attack(MASKS, requests);
    // Each waits for the one before it: their number says how much of the others' work each waits for, whatever the
    // machine's speed.
    let reads = 0;
    for (; statuses.length < requests; reads += 1) {
      const headers = { "BT-API-KEY": quiet.key };
      const response = await fetch(`${inject("serverUrl")}/tokens/${quiet.id}`, { headers });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ id: quiet.id, data: "a value" });
    }
    await over;
    expect(reads).toBeGreaterThanOrEqual(requests);
    expect(new Set(statuses)).toEqual(new Set([201]));
  });
});
