import { describe, expect, it } from "vitest";
import type { Transform } from "../../src/access/access-rule.js";
import type { Caller } from "../../src/access/caller.js";
import { Grant } from "../../src/access/grant.js";
import { Denied } from "../../src/access/refusal.js";
import { mightNeedReason, requireReason, requireReasonToStopAsking } from "../../src/access/reveal-reason.js";
import type { Via } from "../../src/audit/audit-context.js";
import { newUuid } from "../../src/base/ids.js";
import { applicationCaller } from "../support/caller.js";
import { rightsOf, tokenIn } from "./rights.js";

const PROXY: Via = { type: "proxy", id: newUuid() };
const REACTOR: Via = { type: "reactor", id: newUuid() };
const EPHEMERAL: Via = { type: "proxy", id: undefined };
const token = { ...tokenIn(["/a/"]), entityType: "token" as const };

interface Request {
  /** Whether the tenant asks for a reason for every value. */
  readonly tenant?: boolean;
  readonly rule?: string;
  readonly transform?: Transform;
  readonly reason?: string;
  readonly via?: Via;
}

function callerOf({ tenant = false, rule = "/a/ reveal read", reason, via }: Request): Caller {
  const caller = applicationCaller(rightsOf(rule));
  const settings = { ...caller.settings, require_reveal_reason: tenant };
  return { ...caller, settings, context: { ...caller.context, reason, via } };
}

/** Whether the request is denied for its missing reason. */
function isDenied(request: Request): boolean {
  try {
    requireReason(callerOf(request), "token:read", request.transform ?? "reveal", token);
    return false;
  } catch (error) {
    if (error instanceof Denied && error.fault.code === "reason_required") return true;
    throw error;
  }
}

describe("a value in the clear", () => {
  const ASKING = "/a/ reveal! read";

  it.each<[string, Request, boolean]>([
    ["not asked a reason for", {}, false],
    ["of a tenant that asks", { tenant: true }, true],
    ["of a rule that asks", { rule: ASKING }, true],
    ["of a tenant that asks, with a reason", { tenant: true, reason: "a dispute" }, false],
    ["of a rule that asks, with a reason", { rule: ASKING, reason: "a dispute" }, false],
    ["of a rule that asks for another container", { rule: "/b/ reveal! read" }, false],
    ["of a rule that asks for another permission", { rule: "/a/ reveal! use" }, false],
    ["of a tenant that asks, sent to a configured proxy", { tenant: true, via: PROXY }, false],
    ["of a rule that asks, sent to a reactor's code", { rule: ASKING, via: REACTOR }, false],
    ["of a tenant that asks, sent where the caller says", { tenant: true, via: EPHEMERAL }, true],
    ["of a rule that asks, sent where the caller says", { rule: ASKING, via: EPHEMERAL }, true],
    ["shown as a mask", { tenant: true, transform: "mask" }, false],
    ["that is redacted", { tenant: true, transform: "redact" }, false],
  ])("%s: %j needs a reason: %s", (_, request, expected) => {
    expect(isDenied(request)).toBe(expected);
    // A list asks this question once, before it knows its tokens.
    if (expected) expect(mightNeedReason(callerOf(request), "token:read")).toBe(true);
  });

  it.each<[Request, boolean]>([
    [{}, false],
    [{ tenant: true }, true],
    [{ rule: "/b/ reveal! read" }, true],
    [{ rule: "/a/ reveal! use" }, false],
    [{ tenant: true, reason: "a dispute" }, false],
    [{ tenant: true, via: PROXY }, false],
  ])("may need a reason for some token: %j: %s", (request, expected) => {
    expect(mightNeedReason(callerOf(request), "token:read")).toBe(expected);
  });

  it("is denied with a row that names the token", () => {
    const denied = () => requireReason(callerOf({ tenant: true }), "token:read", "reveal", token);
    expect(denied).toThrow(
      expect.objectContaining({
        entry: expect.objectContaining({ entityType: "token", entityId: token.id, code: "reason_required" }),
      }),
    );
  });

  it("needs a reason in a session if the authorizer's rule asks", () => {
    const caller = callerOf({});
    const grant = new Grant(rightsOf("/a/ reveal read"), new Grant(rightsOf(ASKING)));
    expect(() => requireReason({ ...caller, grant }, "token:read", "reveal", token)).toThrow(Denied);
  });
});

it("a tenant stops asking for reasons only with a reason", () => {
  expect(() => requireReasonToStopAsking(callerOf({ reason: "a migration" }))).not.toThrow();
  expect(() => requireReasonToStopAsking(callerOf({}))).toThrow(Denied);
});
