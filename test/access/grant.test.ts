import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccessRights, AccessRule, Transform } from "../../src/access/access-rule.js";
import { Grant, stricterTransform } from "../../src/access/grant.js";
import { TOKEN_PERMISSIONS, type TokenPermission } from "../../src/access/permissions.js";
import { type Holder, shownTo, shownWherePut } from "../e2e/access/model.js";
import { arbitrary, rightsOf, tokenIn } from "./rights.js";

const REFUSED = undefined;
const OPENNESS: readonly (Transform | undefined)[] = [REFUSED, "redact", "mask", "reveal"];

/** Whether one decision shows more than another. A refusal shows least. */
function showsMore(one: Transform | undefined, other: Transform | undefined): boolean {
  return OPENNESS.indexOf(one) > OPENNESS.indexOf(other);
}

/** The rights of an application in the words of the end-to-end matrix, whose model was written independently. */
function holderOf({ permissions, rules }: AccessRights): Holder {
  return {
    name: "",
    permissions: TOKEN_PERMISSIONS.filter((permission) => permissions.includes(permission)),
    rules: rules.map(({ priority, scope, transform, permissions: granted }) => ({
      ...{ priority, transform, permissions: granted },
      container: scope.kind === "container" ? scope.container : "",
    })),
  };
}

describe("a permission without a rule", () => {
  it.each<[TokenPermission, Transform]>([
    ["token:create", "mask"],
    ["token:read", "mask"],
    ["token:search", "mask"],
    ["token:export", "mask"],
    ["token:update", "mask"],
    ["token:use", "reveal"],
    ["token:delete", "redact"],
  ])("%s acts like a rule on / with the transform %s, after all rules", (permission, transform) => {
    const grant = new Grant(rightsOf(`plain ${permission}`));
    expect(grant.transformFor(permission, tokenIn(["/a/b/"]))).toBe(transform);
    for (const other of TOKEN_PERMISSIONS.filter((each) => each !== permission)) {
      expect(grant.transformFor(other, tokenIn(["/a/b/"])), other).toBe(REFUSED);
    }
    const ruled = new Grant(rightsOf(`/a/ redact ${permission}`, `plain ${permission}`));
    expect(ruled.transformFor(permission, tokenIn(["/a/"]))).toBe("redact");
    expect(ruled.transformFor(permission, tokenIn(["/c/"]))).toBe(transform);
  });
});

describe("the rule that decides about an existing token", () => {
  it.each<[string, readonly string[], readonly string[], Transform | undefined]>([
    ["no rights at all allow nothing", [], ["/a/"], REFUSED],
    ["a rule on / covers every container", ["/ mask read"], ["/a/b/"], "mask"],
    ["a rule covers its own container", ["/a/ reveal read"], ["/a/"], "reveal"],
    ["a rule covers containers below", ["/a/ reveal read"], ["/a/b/c/"], "reveal"],
    ["a rule does not cover the container above", ["/a/b/ reveal read"], ["/a/"], REFUSED],
    ["a rule does not cover the root", ["/a/ reveal read"], ["/"], REFUSED],
    ["paths are compared by whole segments", ["/a/ reveal read"], ["/ab/"], REFUSED],
    ["a rule for another permission is skipped", ["/ reveal use", "/ mask read"], ["/a/"], "mask"],
    ["a rule for another container is skipped", ["/b/ reveal read", "/ mask read"], ["/a/"], "mask"],
    ["the first of two rules decides, if it shows more", ["/ reveal read", "/a/ redact read"], ["/a/"], "reveal"],
    ["the first of two rules decides, if it shows less", ["/a/ redact read", "/ reveal read"], ["/a/"], "redact"],
    ["one of several containers is enough", ["/a/ reveal read"], ["/z/", "/a/"], "reveal"],
    ["priority counts before the order of containers", ["/z/ mask read", "/a/ reveal read"], ["/a/", "/z/"], "mask"],
    ["rules come before the plain permission", ["plain read", "/a/ reveal read"], ["/a/"], "reveal"],
    ["the plain permission covers the rest", ["plain read", "/a/ reveal read"], ["/b/"], "mask"],
    ["a plain permission for something else does not", ["plain use", "/a/ reveal read"], ["/b/"], REFUSED],
  ])("%s", (_, lines, containers, expected) => {
    expect(new Grant(rightsOf(...lines)).transformFor("token:read", tokenIn(containers))).toBe(expected);
  });

  it.each<[string, string, string, readonly string[], boolean]>([
    ["an id is compared as it is written", "id=Order-1", "Order-1", ["/a/"], true],
    ["the case of an id counts", "id=Order-1", "order-1", ["/a/"], false],
    ["equals does not mean a prefix", "id=Order", "Order-1", ["/a/"], false],
    ["starts_with means a prefix", "id^Order", "Order-1", ["/a/"], true],
    ["starts_with includes the whole id", "id^Order-1", "Order-1", ["/a/"], true],
    ["starts_with does not search inside", "id^rder", "Order-1", ["/a/"], false],
    ["the case of a container does not count", "container=/PCI/High/", "x", ["/pci/high/"], true],
    ["equals does not cover the containers below", "container=/pci/", "x", ["/pci/high/"], false],
    ["starts_with covers the containers below", "container^/pci/", "x", ["/pci/high/"], true],
    ["starts_with may end within a segment", "container^/cust", "x", ["/customer-7/"], true],
    ["any container of the token may meet a condition", "container=/a/", "x", ["/b/", "/a/"], true],
    ["all conditions must be met", "id=x&container=/a/", "x", ["/b/"], false],
    ["different containers may meet different conditions", "container=/a/&container=/b/", "x", ["/a/", "/b/"], true],
    ["one container cannot equal two paths", "container=/a/&container=/b/", "x", ["/a/"], false],
  ])("%s: %s, token %s in %j", (_, conditions, id, containers, isCovered) => {
    const grant = new Grant(rightsOf(`${conditions} reveal read`));
    expect(grant.transformFor("token:read", tokenIn(containers, id))).toBe(isCovered ? "reveal" : REFUSED);
  });

  it("is the one that an independent model of the documented rules finds", () => {
    fc.assert(
      fc.property(arbitrary.applicationRights, arbitrary.permission, arbitrary.token, (rights, wanted, token) => {
        const expected = shownTo(holderOf(rights), wanted, token.containers);
        expect(new Grant(rights).transformFor(wanted, token) ?? "refused").toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is the same whatever rules follow it, and whatever rules before it do not cover the token", () => {
    fc.assert(
      fc.property(
        ...[arbitrary.rights, arbitrary.rights, arbitrary.permission, arbitrary.token],
        ({ permissions, rules }, others, wanted, token) => {
          const decisionBy = (...some: readonly AccessRule[]) =>
            new Grant({ permissions, rules: some }).transformFor(wanted, token);
          const covers = (rule: AccessRule) =>
            new Grant({ permissions: [], rules: [rule] }).transformFor(wanted, token) !== undefined;
          const deciding = rules.find(covers);
          if (!deciding) return;
          const before = others.rules.filter((rule) => !covers(rule));
          expect(decisionBy(...rules)).toBe(deciding.transform);
          expect(decisionBy(...before, deciding, ...others.rules)).toBe(deciding.transform);
        },
      ),
    );
  });
});

describe("a token that is put into containers", () => {
  it.each<[string, readonly string[], readonly string[], Transform | undefined]>([
    ["every container needs the permission", ["/a/ mask create"], ["/a/", "/b/"], REFUSED],
    ["different rules may give it", ["/a/ mask create", "/b/ reveal create"], ["/a/", "/b/"], "mask"],
    ["what shows least counts, in any order", ["/a/ reveal create", "/b/ redact create"], ["/b/", "/a/"], "redact"],
    ["one container is like an existing token", ["/a/ reveal create"], ["/a/b/"], "reveal"],
    ["without any container nothing is allowed", ["plain create"], [], REFUSED],
  ])("%s", (_, lines, containers, expected) => {
    expect(new Grant(rightsOf(...lines)).transformForAll("token:create", tokenIn(containers))).toBe(expected);
  });

  it("is shown as the independent model says", () => {
    fc.assert(
      fc.property(arbitrary.applicationRights, arbitrary.permission, arbitrary.token, (rights, wanted, token) => {
        const expected = shownWherePut(holderOf(rights), wanted, token.containers);
        expect(new Grant(rights).transformForAll(wanted, token) ?? "refused").toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a decision that needs no token", () => {
  it.each<[string, readonly string[], Transform | undefined]>([
    ["the plain permission alone", ["plain read"], "mask"],
    ["a first rule on /", ["/ reveal read", "/a/ redact read"], "reveal"],
    ["a first rule elsewhere depends on the token", ["/a/ reveal read", "/ reveal read"], undefined],
    ["rules of other permissions do not matter", ["/a/ reveal use", "plain read"], "mask"],
    ["conditions depend on the token", ["id=x reveal read", "plain read"], undefined],
    ["nothing is allowed", ["/ reveal use"], undefined],
  ])("%s", (_, lines, expected) => {
    expect(new Grant(rightsOf(...lines)).transformForAny("token:read")).toBe(expected);
  });

  it("is the decision about each token, also in a session", () => {
    fc.assert(
      fc.property(
        ...[arbitrary.rights, fc.option(arbitrary.applicationRights, { nil: undefined })],
        ...[arbitrary.permission, arbitrary.token],
        (rights, within, wanted, token) => {
          const grant = new Grant(rights, within && new Grant(within));
          const any = grant.transformForAny(wanted);
          if (any !== undefined) expect(grant.transformFor(wanted, token)).toBe(any);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("rights that are given to others", () => {
  it.each<[string, readonly string[], readonly string[], string | undefined]>([
    ["the same plain permission", ["plain read"], ["plain read"], undefined],
    ["a rule that shows what the plain permission shows", ["plain read"], ["/a/ mask read"], undefined],
    ["a rule that shows more than the plain permission", ["plain read"], ["/a/ reveal read"], "token:read"],
    ["a plain permission without rules of it", ["plain read"], ["plain read+delete"], "token:delete"],
    ["a permission that is not about tokens", ["plain read"], ["plain log:read"], "log:read"],
    ["the same permission that is not about tokens", ["plain log:read"], ["plain log:read"], undefined],
    ["a deeper container", ["/a/ mask read"], ["/a/b/ mask read"], undefined],
    ["a container above", ["/a/b/ mask read"], ["/a/ mask read"], "token:read"],
    ["a container beside", ["/a/ mask read"], ["/ab/ mask read"], "token:read"],
    ["less than the own rule shows", ["/a/ reveal read"], ["/a/ redact read"], undefined],
    ["more than the own rule shows", ["/a/ redact read"], ["/a/ mask read"], "token:read"],
    ["more than an exception below shows", ["/a/x/ redact read", "/ reveal read"], ["/a/ reveal read"], "token:read"],
    ["beside an exception", ["/a/x/ redact read", "/ reveal read"], ["/a/y/ reveal read"], undefined],
    ["below an exception that comes later", ["/ reveal read", "/a/ redact read"], ["/a/ reveal read"], undefined],
    ["the plain permission behind an exception", ["/a/ redact read", "plain read"], ["plain read"], "token:read"],
    ["conditions within the own container", ["/a/ mask read"], ["container^/a/b mask read"], undefined],
    ["conditions that reach out of it", ["/a/b/ mask read"], ["container^/a/b mask read"], "token:read"],
    ["conditions on ids, which can be anywhere", ["/a/ mask read"], ["id=x mask read"], "token:read"],
    ["conditions on ids everywhere", ["/ mask read"], ["id=x mask read"], undefined],
    ["several containers, of which one is within", ["/a/ mask read"], ["container^/a/&id^x mask read"], undefined],
    ["all of several permissions", ["/ mask read+use"], ["/a/ mask read+use"], undefined],
    ["one of several permissions too many", ["/ mask read"], ["/a/ mask read+use"], "token:use"],
  ])("%s: who has %j and gives %j exceeds in %s", (_, own, given, expected) => {
    expect(new Grant(rightsOf(...own)).exceededBy(rightsOf(...given))).toBe(expected);
  });

  it("never show a token in one container more openly than the giver sees it, unless refused", () => {
    const token = fc.record({ id: fc.constantFrom("one", "two"), containers: fc.tuple(arbitrary.container) });
    fc.assert(
      fc.property(
        ...[arbitrary.applicationRights, arbitrary.rights, arbitrary.permission, token],
        (own, given, wanted, place) => {
          const giver = new Grant(own);
          fc.pre(giver.exceededBy(given) === undefined);
          const [theirs, mine] = [new Grant(given), giver].map((grant) => grant.transformFor(wanted, place));
          expect(showsMore(theirs, mine)).toBe(false);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe("a session", () => {
  const session = (own: string, authorizer: string) => new Grant(rightsOf(own), new Grant(rightsOf(authorizer)));

  it.each<[string, string, Transform | undefined]>([
    ["/ reveal read", "/ mask read", "mask"],
    ["/ redact read", "/ reveal read", "redact"],
    ["/ reveal read", "/b/ reveal read", REFUSED],
    ["/b/ reveal read", "/ reveal read", REFUSED],
    ["/ reveal read", "/ reveal use", REFUSED],
    ["/ reveal read", "plain read", "mask"],
  ])("with %s of an authorizer with %s sees a token in /a/ as: %s", (own, authorizer, expected) => {
    expect(session(own, authorizer).transformFor("token:read", tokenIn(["/a/"]))).toBe(expected);
  });

  it("holds a permission only while its authorizer holds it", () => {
    expect(session("/a/ mask read", "plain read").holds("token:read")).toBe(true);
    expect(session("/a/ mask read", "plain use").holds("token:read")).toBe(false);
    expect(session("plain use", "plain read").holds("token:read")).toBe(false);
  });

  it("has the layers of its own rights and then of its authorizer's", () => {
    const grant = session("/a/ mask read", "/b/ reveal use");
    expect(grant.layers.map(({ rules }) => rules.map(({ permissions }) => permissions))).toEqual([
      [["token:read"]],
      [["token:use"]],
    ]);
  });
});

describe("a rule that asks for a reason", () => {
  it.each<[string, readonly string[], readonly string[] | undefined, boolean, boolean]>([
    ["decides", ["/a/ reveal! read"], undefined, true, true],
    ["decides elsewhere", ["/b/ reveal! read"], undefined, false, true],
    ["comes after the one that decides", ["/a/ reveal read", "/ reveal! read"], undefined, false, true],
    ["is about another permission", ["/a/ reveal! use", "/a/ reveal read"], undefined, false, false],
    ["is the authorizer's", ["/a/ reveal read"], ["/ reveal! read"], true, true],
    [
      "is the authorizer's for another container",
      ["/a/ reveal read"],
      ["/b/ reveal! read", "/ reveal read"],
      false,
      true,
    ],
    ["does not exist", ["/a/ reveal read", "plain read"], undefined, false, false],
  ])("%s", (_, own, authorizer, asks, mayAsk) => {
    const grant = new Grant(rightsOf(...own), authorizer && new Grant(rightsOf(...authorizer)));
    expect(grant.asksReason("token:read", tokenIn(["/a/"]))).toBe(asks);
    expect(grant.mayAskReason("token:read")).toBe(mayAsk);
  });

  it("never asks for one token without asking in general", () => {
    fc.assert(
      fc.property(arbitrary.rights, arbitrary.permission, arbitrary.token, (rights, wanted, token) => {
        const grant = new Grant(rights);
        if (grant.asksReason(wanted, token)) expect(grant.mayAskReason(wanted)).toBe(true);
      }),
    );
  });
});

describe("rights in general", () => {
  it("are held if a permission or any rule has them, wherever the rule is", () => {
    const grant = new Grant(rightsOf("plain log:read+use", "/deep/down/ redact search"));
    expect(grant.holds("log:read")).toBe(true);
    expect(grant.holds("token:use")).toBe(true);
    expect(grant.holds("token:search")).toBe(true);
    expect(grant.holds("token:read")).toBe(false);
  });

  it("are empty only without permissions and rules", () => {
    expect(new Grant(rightsOf()).isEmpty).toBe(true);
    expect(new Grant(rightsOf("plain read")).isEmpty).toBe(false);
    expect(new Grant(rightsOf("/a/ redact read")).isEmpty).toBe(false);
  });

  it("show the stricter of two transforms in either order", () => {
    for (const [index, one] of (["redact", "mask", "reveal"] as const).entries()) {
      for (const other of (["redact", "mask", "reveal"] as const).slice(index)) {
        expect([stricterTransform(one, other), stricterTransform(other, one)]).toEqual([one, one]);
      }
    }
  });
});

describe("the most open transform", () => {
  it("is an upper bound for every token and permission that responses show, also within an authorizer", () => {
    const { rights, token } = arbitrary;
    fc.assert(
      fc.property(rights, fc.option(rights, { nil: undefined }), token, (own, within, one) => {
        const grant = new Grant(own, within && new Grant(within));
        const shown = TOKEN_PERMISSIONS.filter((name) => name !== "token:use" && name !== "token:delete");
        for (const permission of shown) {
          expect(showsMore(grant.transformFor(permission, one), grant.mostOpenTransform)).toBe(false);
        }
      }),
    );
  });

  it("is that of the plain permission or the most open rule, and less within an authorizer that sees less", () => {
    const open = rightsOf("/a/ redact read", "/b/ reveal read");
    expect(new Grant(open).mostOpenTransform).toBe("reveal");
    expect(new Grant(open, new Grant(rightsOf("plain read"))).mostOpenTransform).toBe("mask");
    expect(new Grant(open, new Grant(rightsOf("plain use"))).mostOpenTransform).toBe(REFUSED);
    expect(new Grant(rightsOf("plain use+delete")).mostOpenTransform).toBe(REFUSED);
  });
});
