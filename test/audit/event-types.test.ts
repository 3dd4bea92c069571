import { expect, it } from "vitest";
import { findEventType } from "../../src/audit/event-types.js";

it("gives an effect its event also if it is a failure, and none to what was denied", () => {
  const captured = { subject: "transaction", operation: "update", remark: "capture_failed" };
  expect(findEventType({ ...captured, outcome: "failed" })).toBe("transaction.updated");
  expect(findEventType({ ...captured, outcome: "denied" })).toBeUndefined();
});
