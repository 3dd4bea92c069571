import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { FAULT_TABLE } from "../../../src/api/faults/fault-table.js";
import { functionProblem, problemDetails, problemJson } from "../../../src/api/faults/problem.js";
import { FAULT_CODES, Fault, type FaultCode, isFaultCode } from "../../../src/base/fault.js";
import { EXIT_CODES, exitCodeFor } from "../../../src/cli/api/exit-codes.js";
import { FunctionFailed } from "../../../src/functions/function-failed.js";

const TRACE = "01980f70-1a2b-7c4d-9e5f-60718293a4b5";

/** The contract of each code with programs: its status in REST and gRPC, and the exit code of a command. */
const CONTRACT: Readonly<Record<FaultCode, readonly [http: number, rpc: Code, exit: keyof typeof EXIT_CODES]>> = {
  malformed_body: [400, Code.InvalidArgument, "failed"],
  validation_failed: [400, Code.InvalidArgument, "failed"],
  unauthenticated: [401, Code.Unauthenticated, "notSignedIn"],
  permission_denied: [403, Code.PermissionDenied, "denied"],
  second_factor_required: [403, Code.PermissionDenied, "denied"],
  reason_required: [403, Code.PermissionDenied, "denied"],
  reason_invalid: [400, Code.InvalidArgument, "failed"],
  not_found: [404, Code.NotFound, "notFound"],
  method_not_allowed: [405, Code.Unimplemented, "failed"],
  destination_timeout: [408, Code.DeadlineExceeded, "failed"],
  already_exists: [409, Code.AlreadyExists, "conflict"],
  conflict: [409, Code.Aborted, "conflict"],
  wrong_state: [409, Code.FailedPrecondition, "conflict"],
  idempotency_in_flight: [409, Code.Aborted, "conflict"],
  body_too_large: [413, Code.ResourceExhausted, "failed"],
  headers_too_large: [431, Code.ResourceExhausted, "failed"],
  request_timeout: [408, Code.DeadlineExceeded, "failed"],
  unsupported_media_type: [415, Code.InvalidArgument, "failed"],
  expectation_failed: [417, Code.InvalidArgument, "failed"],
  unprocessable: [422, Code.FailedPrecondition, "failed"],
  rate_limited: [429, Code.ResourceExhausted, "unavailable"],
  internal: [500, Code.Internal, "failed"],
  destination_unreachable: [502, Code.Unavailable, "failed"],
  unavailable: [503, Code.Unavailable, "unavailable"],
};

describe("an error code", () => {
  it.each(FAULT_CODES)("%s has its statuses, and its exit code in commands", (code) => {
    const [http, rpc, exit] = CONTRACT[code];
    expect(FAULT_TABLE[code]).toMatchObject({ http, rpc });
    expect(exitCodeFor(code)).toBe(EXIT_CODES[exit]);
    expect(isFaultCode(code)).toBe(true);
  });

  it.each(FAULT_CODES)("%s is in a body of problem details", (code) => {
    const [status] = CONTRACT[code];
    const problem = problemDetails(new Fault(code, "Something."), TRACE);
    expect(problem).toEqual({
      ...{ type: `/docs/guides/errors#${code}`, title: FAULT_TABLE[code].title, status, detail: "Something." },
      ...{ instance: `urn:cloakroom:trace:${TRACE}`, code },
      // Published clients read errors of every 400.
      ...(status === 400 ? { errors: {} } : {}),
    });
  });

  it("ends a command too if the client gives it by itself", () => {
    const codes = ["connection_failed", "timeout", "canceled", "teapot", ""].map(exitCodeFor);
    expect(codes).toEqual([
      EXIT_CODES.unavailable,
      EXIT_CODES.unavailable,
      EXIT_CODES.interrupted,
      EXIT_CODES.failed,
      EXIT_CODES.failed,
    ]);
  });
});

describe("problem details", () => {
  it("name fields of every status that has them", () => {
    const taken = new Fault("already_exists", "Taken.", { fields: { id: ["is taken"] } });
    expect(problemDetails(taken, TRACE)).toMatchObject({ status: 409, errors: { id: ["is taken"] } });
    expect(problemJson(taken, TRACE)).toEqual(problemDetails(taken, TRACE));
  });

  it("show nothing of the cause", () => {
    const fault = new Fault("internal", "The server failed.", { cause: new Error("select secret"), retryAfter: 5 });
    expect(JSON.stringify(problemDetails(fault, TRACE))).not.toMatch(/select|secret|cause|retry/);
  });

  it.each(["reactor_error", "proxy_error"] as const)(
    "show an error of tenants' code with its own status: %s",
    (code) => {
      const failed = new FunctionFailed(
        402,
        "Invalid Payment Method",
        { card: ["is declined"] },
        { line: 1, column: 2 },
      );
      expect(functionProblem(failed, code, TRACE)).toMatchObject({
        ...{ type: `/docs/guides/errors#${code}`, code, status: 402, detail: "Invalid Payment Method" },
        ...{ errors: { card: ["is declined"] }, position: { line: 1, column: 2 } },
      });
    },
  );
});
