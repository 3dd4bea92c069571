import { expect, it } from "vitest";
import { MAX_READ_EVENTS, mayHaveReadEvent } from "../../src/audit/read-event-cap.js";
import { newTenantId } from "../../src/base/ids.js";

it("gives each tenant as many events of reads in a minute as the limit", () => {
  const [one, other] = [newTenantId(), newTenantId()];
  const minute = new Date("2026-11-28T10:00:00Z");
  const taken = (at: Date) =>
    Array.from({ length: MAX_READ_EVENTS + 50 }, () => mayHaveReadEvent(one, at)).filter(Boolean).length;
  expect(taken(minute)).toBe(MAX_READ_EVENTS);
  expect(mayHaveReadEvent(other, minute)).toBe(true);
  expect(taken(new Date(minute.getTime() + 60_000))).toBe(MAX_READ_EVENTS);
});
