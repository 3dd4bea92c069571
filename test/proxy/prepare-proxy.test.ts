import { describe, expect, it } from "vitest";
import { newUuid } from "../../src/base/ids.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";
import { checkPatch, checkProxy, type ProxyDefinitionPatch, type ProxyDraft } from "../../src/proxy/prepare-proxy.js";
import { baseUrl, type ProxyDefinition, requestSteps, responseSteps } from "../../src/proxy/proxy.js";
import type { TransformDraft } from "../../src/proxy/transform.js";

const code = (text: string): TransformDraft => ({
  ...{ type: undefined, code: text, matcher: undefined, expression: undefined, replacement: undefined },
  options: undefined,
});
const DRAFT: ProxyDraft = {
  destinationUrl: "https://api.example.com/base/",
  ...{ requestReactorId: undefined, responseReactorId: undefined },
  ...{ requestTransform: undefined, responseTransform: undefined, requestTransforms: [], responseTransforms: [] },
  ...{ configuration: { A: "1" }, disableDetokenization: false },
};

/** Checks with a compiler that refuses code that begins with a question mark, and remembers what it saw. */
function checks() {
  const compiled: string[] = [];
  const compile = async (text: string) => {
    compiled.push(text);
    return text.startsWith("?") ? { message: "unexpected token '?'", line: 1, column: 1 } : undefined;
  };
  return { checks: { policy: new EgressPolicy(), compile }, compiled };
}
const definition = (more: Partial<ProxyDraft> = {}) => checkProxy(checks().checks, { ...DRAFT, ...more });

describe("a proxy that is saved", () => {
  it("compiles all of its code, in the order in which it runs", async () => {
    const { checks: parts, compiled } = checks();
    await checkProxy(parts, {
      ...DRAFT,
      requestTransform: code("request"),
      requestTransforms: [code("request 0"), code("request 1")],
      responseTransform: code("response"),
      responseTransforms: [code("response 0")],
    });
    expect(compiled).toEqual(["request", "request 0", "request 1", "response", "response 0"]);
  });

  it.each<[string, Partial<ProxyDraft>, string]>([
    ["the one of requests", { requestTransform: code("?") }, "request_transform.code"],
    ["the second of requests", { requestTransforms: [code("a"), code("?")] }, "request_transforms[1].code"],
    ["the one of responses", { responseTransform: code("?") }, "response_transform.code"],
    ["the first of responses", { responseTransforms: [code("?")] }, "response_transforms[0].code"],
  ])("is refused for code that does not compile, naming %s", async (_, more, field) => {
    await expect(definition(more)).rejects.toMatchObject({
      code: "unprocessable",
      fields: { [field]: ["does not compile: unexpected token '?' (line 1, column 1)"] },
    });
  });

  it("runs a reactor first, then the single transform, then those of the list", async () => {
    const [requestReactorId, responseReactorId] = [newUuid(), newUuid()];
    const more = {
      requestReactorId,
      responseReactorId,
      requestTransform: code("a"),
      requestTransforms: [code("b"), code("c")],
    };
    const saved = await definition(more);
    const named = requestSteps(saved).map((step) =>
      step.type === "code" ? step.code : step.type === "reactor" && step.reactorId,
    );
    expect(named).toEqual([requestReactorId, "a", "b", "c"]);
    expect(responseSteps(saved)).toEqual([{ type: "reactor", reactorId: responseReactorId }]);
  });

  it.each([
    ["https://h.example", "https://h.example"],
    ["https://h.example///", "https://h.example"],
    ["https://h.example/a/", "https://h.example/a"],
    ["https://h.example/a/?q=/", "https://h.example/a/?q=/"],
  ])("with the destination %s calls %s and the path behind it", async (destinationUrl, base) => {
    expect(baseUrl(await definition({ destinationUrl }))).toBe(base);
  });
});

describe("a patch of a proxy", () => {
  const full: Partial<ProxyDraft> = {
    ...{ requestReactorId: newUuid(), responseReactorId: newUuid(), disableDetokenization: true },
    ...{ requestTransform: code("a"), responseTransform: code("b") },
    ...{ requestTransforms: [code("c")], responseTransforms: [code("d")] },
  };
  /** The definition after a patch, as far as it differs. */
  const changed = async (patch: ProxyDefinitionPatch) => {
    const before = await definition(full);
    const after = (await checkPatch(checks().checks, patch))(before);
    return Object.fromEntries(
      Object.entries(after).filter(
        ([name, value]) => value !== Object.entries(before).find(([known]) => known === name)?.[1],
      ),
    );
  };
  const asCode = (text: string) => ({ type: "code", code: text, isTypeGiven: false, runtime: undefined });

  it.each<[ProxyDefinitionPatch, Partial<Record<keyof ProxyDefinition, unknown>>]>([
    [{}, {}],
    [{ destinationUrl: "https://other.example" }, { destinationUrl: "https://other.example" }],
    [{ requestReactorId: null }, { requestReactorId: undefined }],
    [{ responseReactorId: null }, { responseReactorId: undefined }],
    [{ requestTransform: null }, { requestTransform: undefined }],
    [{ responseTransform: code("x") }, { responseTransform: asCode("x") }],
    [{ requestTransforms: null }, { requestTransforms: [] }],
    [{ responseTransforms: [] }, { responseTransforms: [] }],
    [{ requestTransforms: [code("x"), code("y")] }, { requestTransforms: [asCode("x"), asCode("y")] }],
    [{ disableDetokenization: false }, { disableDetokenization: false }],
    [{ configuration: { B: "2" } }, { configuration: { A: "1", B: "2" } }],
    [{ configuration: { A: null } }, { configuration: {} }],
    [{ configuration: null }, { configuration: {} }],
  ])("%j changes what it names, and nothing else", async (patch, expected) => {
    expect(await changed(patch)).toEqual(expected);
  });

  it("compiles only the code that it brings", async () => {
    const { checks: parts, compiled } = checks();
    await checkPatch(parts, { responseTransforms: [code("new")] });
    expect(compiled).toEqual(["new"]);
  });

  it.each<[string, ProxyDefinitionPatch, string]>([
    ["no destination", { destinationUrl: null }, "destination_url"],
    ["a private destination", { destinationUrl: "https://10.0.0.1/" }, "destination_url"],
    ["a transform without code", { requestTransform: code("") }, "request_transform.code"],
    [
      "a transform of an unknown type",
      { responseTransforms: [{ ...code("a"), type: "x" }] },
      "response_transforms[0].type",
    ],
  ])("is refused with %s", async (_, patch, field) => {
    await expect(checkPatch(checks().checks, patch)).rejects.toMatchObject({ fields: { [field]: expect.any(Array) } });
  });
});
