import { describe, expect, it } from "vitest";
import { observeInto } from "../../../src/api/observation/observation.js";
import type { LogFields } from "../../../src/api/observation/operator-log.js";
import { expandUuid } from "../../../src/base/compact-uuid.js";
import { Fault, Reason } from "../../../src/base/fault.js";

/** The cause of a failure as the operator's log shows it. */
function causeFor(cause: unknown): string | undefined {
  const causes: (string | undefined)[] = [];
  const ignore = () => {};
  const error = (fields: LogFields) => void causes.push(fields.cause);
  const observe = observeInto({ debug: ignore, info: ignore, warn: ignore, error }, ignore);
  const observation = observe({ rpc: "a.Service/Method", traceId: "a-trace", parent: undefined });
  observation.fail(500, new Fault("internal", "Something went wrong on our side.", { cause }));
  expect(causes).toHaveLength(1);
  return causes[0];
}

/** An error thrown by our own code. */
function thrown(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}

describe("the cause of a failure", () => {
  it("is our own message if there is one", () => {
    expect(causeFor(new Reason("database 53100"))).toBe("database 53100");
  });

  it("is the class and location of any other error", () => {
    const error = thrown(() => expandUuid(Object.assign(Object(Symbol("no text")), { length: 22 })));
    expect(causeFor(error)).toMatch(/^TypeError at src\/base\/[a-z-]+\.ts:\d+:\d+$/);
  });

  it.each([
    ["a line", "4242424242424242"],
    ["lines that look like a place", "no number:\n    at src/4242424242424242\n    at x (dist/4242424242424242:1:1)"],
  ])("never contains the message of %s", (_, message) => {
    expect(causeFor(new RangeError(message))).not.toContain("4242");
    const renamed = new RangeError(message);
    renamed.message = "another";
    expect(causeFor(renamed)).not.toContain("4242");
  });

  it.each([["thrown text 4242"], [{ message: "4242" }], [undefined]])("is unknown if %s was thrown", (cause) => {
    expect(causeFor(cause)).toBe("unknown");
  });
});
