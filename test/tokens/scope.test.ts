import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storedContainer } from "../../src/access/container.js";
import { type AccessTarget, Grant } from "../../src/access/grant.js";
import { Denied } from "../../src/access/refusal.js";
import type { ScopeAlternative } from "../../src/store/tokens/token-selection.js";
import { requireContainerInScope } from "../../src/tokens/cursor-list.js";
import { visibleScopes } from "../../src/tokens/scope.js";
import { containerTerm, indexTerm, metadataTerm, tokenTerms } from "../../src/tokens/terms.js";
import { cursorFilter } from "../../src/tokens/token-filter.js";
import { arbitrary, rightsOf } from "../access/rights.js";
import { applicationCaller } from "../support/caller.js";
import { newTenantKeys } from "../support/tenant-keys.js";

const KEYS = newTenantKeys();
const NOW = new Date("2026-01-01T00:00:00Z");

/** The terms by which the database finds a token. */
function storedTerms({ id, containers }: AccessTarget): ReadonlySet<string> {
  const terms = tokenTerms(KEYS, { id, containers, createdAt: NOW, metadata: {}, indexValues: [] });
  return new Set(terms.map(({ term }) => term.toString("hex")));
}

/** Whether the database finds the token within one alternative, by the meaning of each requirement. */
function isWithin(alternative: ScopeAlternative, token: AccessTarget, terms: ReadonlySet<string>): boolean {
  return alternative.every((required) => {
    switch (required.kind) {
      case "below":
        return terms.has(required.term.toString("hex"));
      case "id":
        return token.id === required.text;
      case "id_prefix":
        return token.id.startsWith(required.text);
      case "container":
        return token.containers.some((container) => container === required.text);
      case "container_prefix":
        return token.containers.some((container) => container.startsWith(required.text));
      default:
        return required satisfies never;
    }
  });
}

describe("the tokens in a list", () => {
  it("are exactly those about which a rule or permission decides, for applications and sessions", () => {
    fc.assert(
      fc.property(
        ...[arbitrary.rights, fc.option(arbitrary.applicationRights, { nil: undefined })],
        ...[arbitrary.permission, arbitrary.token],
        (rights, within, permission, token) => {
          const grant = new Grant(rights, within && new Grant(within));
          // A caller without the permission is denied before anything is listed.
          fc.pre(grant.holds(permission));
          const terms = storedTerms(token);
          const isListed = visibleScopes(grant, permission, KEYS).every((scope) =>
            scope.some((alternative) => isWithin(alternative, token, terms)),
          );
          expect(isListed).toBe(grant.transformFor(permission, token) !== undefined);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ["everything by the plain permission", ["plain read"], []],
    ["everything by a rule on /", ["/ redact read"], []],
    ["everything if one of several rules is on /", ["/a/ mask read", "/ redact read"], []],
    ["one container", ["/a/ mask read"], ["below"]],
    ["several containers", ["/a/ mask read", "/b/ mask read"], ["below", "below"]],
    ["containers of rules with this permission only", ["/a/ mask read", "/b/ mask search"], ["below"]],
    ["one token", ["id=x mask read"], ["id"]],
    ["a path that ends within a segment", ["container^/a/b mask read"], ["below container_prefix"]],
    ["a path that is only the beginning of one", ["container^/a mask read"], ["container_prefix"]],
    ["a token in a container", ["id^x&container=/a/ mask read"], ["id_prefix below container"]],
  ])("%s is looked up as: %s %j", (_, lines, expected) => {
    const scopes = visibleScopes(new Grant(rightsOf(...lines)), "token:read", KEYS);
    const kinds = scopes.flat().map((alternative) => alternative.map(({ kind }) => kind).join(" "));
    expect(kinds).toEqual(expected);
  });
});

describe("a list of a named container", () => {
  const isDenied = (container: string, ...lines: readonly string[]) => {
    const caller = applicationCaller(rightsOf(...lines));
    const filter = cursorFilter(KEYS, {
      ...{ container, type: undefined, fingerprint: undefined, data: undefined, metadata: {} },
    });
    try {
      requireContainerInScope({ caller, keys: KEYS, permission: "token:read", filter }, container);
      return false;
    } catch (error) {
      if (error instanceof Denied) return true;
      throw error;
    }
  };

  it.each<[string, string, boolean]>([
    ["/a/", "/a/ mask read", false],
    ["/A/*", "/a/ mask read", false],
    ["/a/b/", "/a/ mask read", false],
    ["/", "/a/ mask read", false],
    ["/b/", "/a/ mask read", true],
    ["/ab/", "/a/ mask read", true],
    ["/b/", "plain read", false],
    ["/b/", "id=x mask read", false],
    ["/a/", "/a/ mask search", true],
    ["/a/", "plain search", true],
  ])("%s is denied with the rights %s, instead of shown empty: %s", (container, line, expected) => {
    expect(isDenied(container, line)).toBe(expected);
  });
});

describe("the search terms of a token", () => {
  const findable = {
    ...{ id: "some-id", createdAt: NOW, containers: [storedContainer("/a/b/"), storedContainer("/a/c/")] },
    ...{ metadata: { Name: "Zoë", b: "x" }, indexValues: ["one", "One", "one"] },
  };
  const terms = tokenTerms(KEYS, findable).map(({ term }) => term.toString("hex"));

  it("are one for each container with its ancestors, metadata pair and index value, each once", () => {
    expect(terms).toHaveLength(["/a/", "/a/b/", "/a/c/", "Name", "b", "one", "One"].length);
    expect(new Set(terms).size).toBe(terms.length);
    expect(tokenTerms(KEYS, findable)).toEqual(tokenTerms(KEYS, findable));
    for (const row of tokenTerms(KEYS, findable)) expect(row).toMatchObject({ created_at: NOW, token_id: "some-id" });
  });

  it.each<[string, Buffer, boolean]>([
    ["a container", containerTerm(KEYS, storedContainer("/a/b/")), true],
    ["a container above", containerTerm(KEYS, storedContainer("/a/")), true],
    ["a container below", containerTerm(KEYS, storedContainer("/a/b/c/")), false],
    ["the root, which every token is in", containerTerm(KEYS, storedContainer("/")), false],
    ["metadata in any case", metadataTerm(KEYS, "Name", "ZOË"), true],
    ["metadata by a name in another case", metadataTerm(KEYS, "name", "Zoë"), false],
    ["metadata by the value of another name", metadataTerm(KEYS, "Name", "x"), false],
    ["an index value", indexTerm(KEYS, "One"), true],
    ["an index value in another case", indexTerm(KEYS, "ONE"), false],
    ["an index value that is metadata", indexTerm(KEYS, "x"), false],
    ["metadata that is an index value", metadataTerm(KEYS, "", "one"), false],
    ["a term of another tenant", indexTerm(newTenantKeys(), "one"), false],
  ])("find it by %s: %s", (_, term, isFound) => {
    expect(terms.includes(term.toString("hex"))).toBe(isFound);
  });

  it("say nothing about the value without the tenant's key", () => {
    for (const term of terms) expect(term).toMatch(/^[0-9a-f]{32}$/);
  });
});
