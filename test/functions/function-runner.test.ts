import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import { FunctionFailed } from "../../src/functions/function-failed.js";
import { type FunctionResponse, functionResult } from "../../src/functions/function-runner.js";
import { observedRun } from "../../src/functions/observed-run.js";
import type { GuestError } from "../../src/sandbox/guest-error.js";
import { failed, type RunFailure, type RunOutcome } from "../../src/sandbox/run.js";

const POSITION = { line: 4, column: 2 };
const USAGE = { ms: 12, memoryBytes: 1_024 };
const ERRORS = { error: ["slower"] };
const PUBLISHED: GuestError = {
  type: "published",
  name: "RateLimitError",
  status: 429,
  detail: "Rate Limit Exceeded",
  errors: ERRORS,
  position: POSITION,
};
const OTHER: GuestError = {
  type: "other",
  status: 500,
  detail: "Reactor Runtime Error",
  errors: ERRORS,
  position: POSITION,
};

const threw = (error: GuestError): RunOutcome => ({ kind: "threw", error, console: [], usage: USAGE });
const responding = (response: Partial<FunctionResponse>) =>
  threw({ type: "custom_http_response", status: 200, headers: {}, body: null, ...response });

/** What the caller of a run gets: its result, or the error. */
function seenBy(outcome: RunOutcome): unknown {
  try {
    return functionResult(outcome);
  } catch (error) {
    return error;
  }
}

describe("a run that did not finish", () => {
  const ENDS: Readonly<Record<RunFailure, readonly [status: number, detail: string, text: RegExp]>> = {
    timeout: [500, "Reactor Runtime Error", /took too long/],
    memory: [500, "Reactor Runtime Error", /too much memory/],
    killed: [500, "Reactor Runtime Error", /had to be stopped/],
    result_too_large: [500, "Reactor Runtime Error", /returned too much/],
    args_too_large: [413, "Reactor Runtime Error", /arguments are too large/],
    unsettled: [500, "Reactor Runtime Error", /promise that can never settle/],
    not_a_function: [422, "Invalid Reactor Formula", /must export a function/],
    does_not_compile: [422, "Invalid Reactor Formula", /does not compile/],
    held: [503, "60", /repeatedly could not be stopped in time/],
    overloaded: [503, "1", /could not be run now/],
    runner_restarted: [503, "1", /could not be run now/],
  };
  const ends = Object.entries(ENDS).map(([reason, end]) => [reason, ...end] as const);
  const failures: readonly RunFailure[] = [
    ...(["timeout", "memory", "killed", "result_too_large", "args_too_large", "unsettled", "not_a_function"] as const),
    ...(["does_not_compile", "held", "overloaded", "runner_restarted"] as const),
  ];
  const failureNamed = (name: string) => failures.find((failure) => failure === name) ?? "killed";

  it.each(ends.filter(([, status]) => status !== 503))(
    "for %s is an error of the code: %i %s",
    (reason, status, detail, text) => {
      const error = seenBy(failed(failureNamed(reason)));
      expect(error).toBeInstanceOf(FunctionFailed);
      expect(error).toMatchObject({ status, detail, errors: { error: [expect.stringMatching(text)] } });
    },
  );

  it.each(ends.filter(([, status]) => status === 503))(
    "for %s is a fault to retry: %i after %s s",
    (reason, _, seconds, text) => {
      const error = seenBy(failed(failureNamed(reason)));
      expect(error).toBeInstanceOf(Fault);
      expect(error).toMatchObject({
        code: "unavailable",
        retryAfter: Number(seconds),
        message: expect.stringMatching(text),
      });
    },
  );

  it("for code that does not compile names the place in it", () => {
    const problem = { message: "unexpected token", line: 2, column: 9 };
    expect(seenBy(failed("does_not_compile", { problem }))).toMatchObject({
      errors: { error: ["The code does not compile: unexpected token"] },
      position: { line: 2, column: 9 },
    });
  });
});

describe("a run whose code threw", () => {
  it("shows callers an error of the code as it is, and where an unexpected one was created", () => {
    expect(seenBy(threw(PUBLISHED))).toMatchObject({ status: 429, errors: ERRORS, position: undefined });
    expect(seenBy(threw(OTHER))).toMatchObject({ status: 500, errors: ERRORS, position: POSITION });
  });

  it("shows its authors the place of both, with console output and usage", () => {
    const console = [{ level: "log", text: "here" } as const];
    for (const error of [PUBLISHED, OTHER]) {
      const run = observedRun("reactor", { ...threw(error), console });
      expect(run).toEqual({
        kind: "reactor",
        failure: expect.objectContaining({ position: POSITION }),
        console,
        usage: USAGE,
      });
    }
  });

  it.each<[string, RunOutcome]>([
    ["returned", { kind: "returned", value: 1, console: [], usage: USAGE }],
    ["answered by itself", responding({ status: 500 })],
    ["could not run now", failed("overloaded")],
  ])("has no failure for its authors if it %s", (_, outcome) => {
    expect(observedRun("reactor", outcome).failure).toBeUndefined();
  });
});

describe("a response of the code itself", () => {
  it("passes on status, headers and body", () => {
    const response = { status: 302, headers: { Location: "/x", "set-cookie": "a=b" }, body: { a: 1 } };
    expect(seenBy(responding(response))).toEqual({ kind: "answered", response });
  });

  it.each(["Connection", "content-length", "Keep-Alive", "TRAILER", "Transfer-Encoding", "upgrade"])(
    "drops the header %s, which frames the message",
    (name) => {
      expect(seenBy(responding({ headers: { [name]: "1", "x-a": "2" } }))).toMatchObject({
        response: { headers: { "x-a": "2" } },
      });
    },
  );

  it.each<[string, Partial<FunctionResponse>, RegExp]>([
    ["an interim status", { status: 103 }, /status must be 200 to 599/],
    ["a header with a line break", { headers: { a: "b\r\nc: d" } }, /headers must be HTTP headers/],
    ["a header without a name", { headers: { "": "b" } }, /headers must be HTTP headers/],
    ["a header name with a blank", { headers: { "a b": "c" } }, /headers must be HTTP headers/],
  ])("cannot have %s", (_, response, words) => {
    expect(seenBy(responding(response))).toMatchObject({
      status: 500,
      errors: { error: [expect.stringMatching(words)] },
    });
    expect(observedRun("reactor", responding(response)).failure).toBeInstanceOf(FunctionFailed);
  });
});
