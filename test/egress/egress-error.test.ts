import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  EgressError,
  type EgressReason,
  egressExpectation,
  isRefusal,
  systemErrorCode,
} from "../../src/egress/egress-error.js";

describe("an egress error", () => {
  it.each([
    ["private", "destination_unreachable", "The destination must not be a private address."],
    ["denied", "destination_unreachable", "The destination must not be one that the operator of this service denies."],
    ["plain_http", "destination_unreachable", "The destination must use https."],
    ["name_not_found", "destination_unreachable", "The destination's name does not exist."],
    ["connect_timeout", "destination_unreachable", "The destination could not be connected to in time."],
    ["headers_timeout", "destination_timeout", "The destination did not respond in time."],
    ["body_timeout", "destination_timeout", "The destination's response stopped before its end."],
    ["invalid_request", "unprocessable", "The request to the destination is not valid HTTP."],
    ["request_body_failed", "malformed_body", "The request's body could not be read to its end."],
  ] as const)("%s becomes %s", (reason, code, detail) => {
    const fault = new EgressError(reason).toFault();
    expect([fault.code, fault.message]).toEqual([code, detail]);
  });

  it("states what is expected if a destination is denied", () => {
    const refusals: readonly EgressReason[] = ["loopback", "metadata", "port"];
    expect(refusals.every(isRefusal)).toBe(true);
    expect(isRefusal("connect_failed")).toBe(false);
    expect(egressExpectation("metadata")).toBe("must not be the address of a metadata service");
  });

  it("keeps the code of the underlying error and nothing that names the destination", () => {
    const beneath = Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:443 secret.example"), {
      code: "ECONNREFUSED",
      address: "10.1.2.3",
      hostname: "secret.example",
    });
    const error = new EgressError("connect_failed", "not_sent", beneath);
    expect(error.systemCode).toBe("ECONNREFUSED");
    expect(inspect(error.toFault(), { depth: 10, showHidden: true })).not.toMatch(/10\.1\.2\.3|secret\.example/);
  });

  it("takes the first code of a group of attempts, and only codes", () => {
    const coded = (code: unknown) => Object.assign(new Error("x"), { code });
    expect(systemErrorCode(new AggregateError([new Error("x"), coded("EHOSTUNREACH"), coded("ETIMEDOUT")]))).toBe(
      "EHOSTUNREACH",
    );
    expect(systemErrorCode(coded("see 10.1.2.3"))).toBeUndefined();
    expect(systemErrorCode(coded(7))).toBeUndefined();
    expect(systemErrorCode("ECONNRESET")).toBeUndefined();
  });
});
