import { afterEach, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId } from "../../../src/base/ids.js";
import { Connectors } from "../../../src/payments/connections/connectors.js";
import type { ProviderCall } from "../../../src/payments/contract/provider-http.js";
import { LEASE_SECONDS } from "../../../src/store/payments/payments.js";

/** What one call takes at most (provider-http.ts). */
const CALL_MS = 20_000;

afterEach(() => void vi.restoreAllMocks());

it("the calls of an operation end before another process may work on its payment", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const ends: number[] = [];
  const slow = async () => {
    now += CALL_MS;
    ends.push(now);
    return { kind: "responded", response: { status: 429, header: () => undefined, text: "" } } as const;
  };
  const { send } = new Connectors([], () => slow, systemClock).contextOf(newTenantId(), { fields: new Map() });
  const call: ProviderCall = { method: "GET", url: "https://service.example.com/", headers: [] };
  now += CALL_MS - 1;
  expect((await send(call)).kind).toBe("responded");
  expect(await send(call)).toEqual({ kind: "never_sent", reason: "no_time" });
  expect(Math.max(...ends)).toBeLessThan(LEASE_SECONDS * 1_000);
});
