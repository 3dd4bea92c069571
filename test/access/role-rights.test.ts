import { describe, expect, it } from "vitest";
import type { AccessRights, Transform } from "../../src/access/access-rule.js";
import type { Caller } from "../../src/access/caller.js";
import { storedContainer } from "../../src/access/container.js";
import {
  type ApplicationType,
  PERMISSIONS,
  TOKEN_PERMISSIONS,
  type TokenPermission,
} from "../../src/access/permissions.js";
import { Denied } from "../../src/access/refusal.js";
import { ROLES, type Role } from "../../src/access/role.js";
import { grantOfRole, requireGrantable, requireOwn, withRevealGrant } from "../../src/access/role-rights.js";
import { Fault } from "../../src/base/fault.js";
import { newUuid } from "../../src/base/ids.js";
import { applicationCaller, personCaller } from "../support/caller.js";
import { rightsOf, tokenIn } from "./rights.js";

type Cell = Transform | undefined;

describe("what people see of tokens", () => {
  const no = undefined;
  const columns: readonly TokenPermission[] = [
    ...(["token:create", "token:read", "token:search", "token:update", "token:delete", "token:use"] as const),
    "token:export",
  ];

  it.each<[Role, ...Cell[]]>([
    //             create  read      search    update  delete  use, export
    ["OWNER", ...(["mask", "mask", "mask", "mask", "mask", "mask"] as const), no],
    ["ADMIN", ...(["mask", "mask", "mask", "mask", "mask", "mask"] as const), no],
    ["AUDITOR", ...([no, "redact", "redact", no, no, "redact"] as const), no],
    ["DEVELOPER", ...([no, no, no, no, no, no] as const), no],
  ])("as %s, to create: %s, read: %s, search: %s, update: %s, delete: %s, use: %s, export: %s", (role, ...cells) => {
    const shown = columns.map((permission) => grantOfRole(role).transformFor(permission, tokenIn(["/pci/high/"])));
    expect(shown).toEqual(cells);
    expect(columns.toSorted()).toEqual([...TOKEN_PERMISSIONS].toSorted());
  });

  it.each(ROLES)("is never a value in the clear, and no permission that is not about tokens: %s", (role) => {
    for (const { permission } of PERMISSIONS) {
      if (!columns.some((one) => one === permission)) expect(grantOfRole(role).holds(permission)).toBe(false);
    }
    for (const permission of columns) {
      expect(grantOfRole(role).transformFor(permission, tokenIn(["/"]))).not.toBe("reveal");
    }
  });
});

/** The code with which an author may not give rights to an application; undefined: it may. */
function rightsRefusal(author: Caller, type: ApplicationType, rights: AccessRights): string | undefined {
  try {
    requireGrantable(author, type, rights);
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const CAPTURE = "orchestration:transaction:capture";
const OUTSIDE = "outside of the containers assigned to you";

describe("rights that a person gives to an application without a second factor", () => {
  it.each<[ApplicationType, string, string | undefined, string | undefined]>([
    ["private", "plain create", undefined, undefined],
    ["private", "plain read", undefined, `token:read ${OUTSIDE}`],
    ["private", "plain search", "token:search", "token:search"],
    ["private", "/a/ redact search", "token:search", "token:search"],
    ["private", "plain delete", undefined, `token:delete ${OUTSIDE}`],
    ["private", "plain update", "token:update by a rule other than redact", `token:update ${OUTSIDE}`],
    ["private", "plain use", "token:use", "token:use"],
    ["private", "/a/ mask create", undefined, undefined],
    ["private", "/a/ mask create+read+delete", undefined, `token:read ${OUTSIDE}`],
    ["private", "/a/ redact update", undefined, `token:update ${OUTSIDE}`],
    ["private", "/a/ mask update", "token:update by a rule other than redact", `token:update ${OUTSIDE}`],
    ["private", "/a/ reveal create", "token:create by a rule that reveals", "token:create by a rule that reveals"],
    ["private", "/a/ reveal read", "token:read by a rule that reveals", `token:read ${OUTSIDE}`],
    ["private", "/a/ reveal! read", "token:read by a rule that reveals", `token:read ${OUTSIDE}`],
    ["private", "/a/ reveal search", "token:search", "token:search"],
    ["private", "/a/ redact use", "token:use", "token:use"],
    ["private", "plain 3ds:session:create+3ds:session:read", undefined, "3ds:session:create"],
    ["private", `plain ${CAPTURE}`, CAPTURE, CAPTURE],
    ["public", "plain create", undefined, undefined],
    ["public", "plain create+update", undefined, `token:update ${OUTSIDE}`],
    ["public", "/a/ mask update", undefined, `token:update ${OUTSIDE}`],
    ["public", "/a/ reveal create", "token:create by a rule that reveals", "token:create by a rule that reveals"],
    ["public", "plain 3ds:session:create", undefined, "3ds:session:create"],
  ])("%s application with %s: beyond an ADMIN's limit is %s, a DEVELOPER's %s", (type, line, ...beyond) => {
    const rights = rightsOf(line);
    for (const [roles, exceeded] of [
      [["OWNER", "ADMIN"], beyond[0]],
      [["DEVELOPER"], beyond[1]],
    ] as const) {
      for (const role of roles) {
        const refusal = rightsRefusal(personCaller(role), type, rights);
        if (exceeded === undefined) expect(refusal, role).toBeUndefined();
        else expect(refusal, role).toContain(`an application with ${exceeded}`);
      }
    }
    expect(rightsRefusal(personCaller("AUDITOR"), type, rights)).toContain("permission_denied");
  });

  it.each<[ApplicationType, string, boolean]>([
    ["private", "/a/ mask read+delete", true],
    ["private", "/a/ mask search", false],
    ["private", "/a/ redact search", false],
    ["private", "/a/b/ mask read", true],
    ["private", "/a/ redact update", true],
    ["private", "/a/ mask update", false],
    ["private", "/a/ reveal read", false],
    ["private", "/b/ mask read", false],
    ["private", "/ mask read", false],
    ["private", "plain read", false],
    ["private", "plain delete", false],
    ["private", "/a/ redact use", false],
    ["public", "/a/ mask create+update", true],
    ["public", "plain update", false],
    ["public", "/b/ redact update", false],
    ["management", "plain log:read", false],
  ])("%s application with %s, by a DEVELOPER with the container /a/: %s", (type, line, isAllowed) => {
    for (const hasSecondFactor of [false, true]) {
      const developer = personCaller("DEVELOPER", { hasSecondFactor, containers: [storedContainer("/a/")] });
      expect(rightsRefusal(developer, type, rightsOf(line)) === undefined).toBe(isAllowed);
    }
  });

  it.each<[Role, boolean, string | undefined]>([
    ["OWNER", false, "second_factor_required"],
    ["OWNER", true, undefined],
    ["ADMIN", false, "second_factor_required"],
    ["ADMIN", true, undefined],
    ["AUDITOR", false, "permission_denied"],
    ["AUDITOR", true, "permission_denied"],
    ["DEVELOPER", false, "permission_denied"],
    ["DEVELOPER", true, "permission_denied"],
  ])("beyond that limit, %s with a second factor: %s is refused with %s", (role, hasSecondFactor, code) => {
    const author = personCaller(role, { hasSecondFactor });
    for (const [type, line] of [
      ["management", "plain log:read"],
      ["private", "/ reveal read"],
    ] as const) {
      const refusal = rightsRefusal(author, type, rightsOf(line));
      if (code === undefined) expect(refusal).toBeUndefined();
      else expect(refusal).toMatch(new RegExp(`^${code}: `));
    }
  });

  it("does not limit what the key of an application gives on tokens", () => {
    const key = applicationCaller(rightsOf("plain application:create"), "management");
    expect(rightsRefusal(key, "private", rightsOf("/ reveal read+use"))).toBeUndefined();
  });

  it("limits a key to its own permissions of administration", () => {
    const key = applicationCaller(rightsOf("plain application:create+log:read"), "management");
    expect(rightsRefusal(key, "management", rightsOf("plain log:read"))).toBeUndefined();
    expect(rightsRefusal(key, "management", rightsOf("plain log:read+tenant:delete"))).toBe(
      "permission_denied: The key used may neither give nor take tenant:delete, which it does not hold itself.",
    );
  });
});

describe("an entity that others created", () => {
  it.each<[Role, boolean]>([
    ["OWNER", true],
    ["ADMIN", true],
    ["AUDITOR", true],
    ["DEVELOPER", false],
  ])("may be changed by %s: %s", (role, isAllowed) => {
    const person = personCaller(role);
    expect(() => requireOwn(person, person.principal.userId)).not.toThrow();
    for (const other of [newUuid(), person.principal.memberId, null]) {
      if (isAllowed) expect(() => requireOwn(person, other)).not.toThrow();
      else expect(() => requireOwn(person, other)).toThrow("may only change, delete or make keys for what you created");
    }
  });

  it("may be changed with a key", () => {
    expect(() => requireOwn(applicationCaller(rightsOf("plain read")), newUuid())).not.toThrow();
  });
});

describe("a value in the clear for a person", () => {
  const admin = personCaller("ADMIN", { hasSecondFactor: true });

  it("is the right to read one, with a reason, if the tenant allows it", () => {
    const allowing = { ...admin, settings: { ...admin.settings, reveal_to_people: true } };
    const { grant, ...others } = withRevealGrant(allowing);
    const { grant: _, ...same } = allowing;
    expect(others).toEqual(same);
    const shown = TOKEN_PERMISSIONS.map((permission) => grant.transformFor(permission, tokenIn(["/a/"])));
    expect(shown).toEqual(TOKEN_PERMISSIONS.map((one) => (one === "token:read" ? "reveal" : undefined)));
    expect(grant.asksReason("token:read", tokenIn(["/a/"]))).toBe(true);
  });

  it("is denied with a row in the log while the tenant's setting is off", () => {
    const denied = (() => {
      try {
        return withRevealGrant(admin);
      } catch (error) {
        return error;
      }
    })();
    expect(denied).toBeInstanceOf(Denied);
    expect(denied).toMatchObject({
      tenantId: admin.tenantId,
      fault: { code: "permission_denied" },
      entry: { entityType: "tenant", operation: "refuse", message: expect.stringContaining("reveal_to_people is off") },
    });
  });
});
