import { describe, expect, it } from "vitest";
import { ServedPaths } from "../../../src/api/rest/served-paths.js";
import { parsePathTemplate, routePath } from "../../../src/api/routes/path-template.js";
import { routes } from "../../support/rest-routes.js";

const served = new ServedPaths();
for (const { path, verb, method } of routes) {
  served.add(path, verb);
  served.addCall(method.desc);
}
const methodsAt = (target: string) => [...(served.methodsAt(target) ?? [])].toSorted();

describe("the methods of a path", () => {
  it.each([
    ["/tokens", ["GET", "POST"]],
    ["/tokens/", ["GET", "POST"]],
    ["/tokens?size=5#x", ["GET", "POST"]],
    ["/tokens/abc", ["DELETE", "GET", "PATCH"]],
    ["/tokens/%2F?a=/b", ["DELETE", "GET", "PATCH"]],
    ["/tokens/search", ["POST"]],
    ["/proxies/test", ["POST"]],
    ["/reactors/test?x", ["POST"]],
    ["/reactors/abc/react", ["POST"]],
    ["/cloakroom.v1.TokenService/CreateToken", ["POST"]],
    ["/tokens//", []],
    ["/tokens/a/b", []],
    ["/Tokens", []],
    ["//tokens", []],
    ["/", []],
    ["", []],
    ["/cloakroom.v1.TokenService/Create", []],
  ])("at %s are: %j", (target, methods) => {
    expect(methodsAt(target)).toEqual(methods);
  });

  it.each(routes.map(({ verb, path }) => [verb, path.text] as const))("include %s at %s", (verb, text) => {
    expect(methodsAt(text.replaceAll(/\{\w+\}/g, "0"))).toContain(verb);
  });
});

describe("the template of a path", () => {
  it.each([
    ["/tokens", "/tokens", []],
    ["/tokens/{id}", "/tokens/:id", ["id"]],
    ["/a/{x_1}/b-c/{y}", "/a/:x_1/b-c/:y", ["x_1", "y"]],
  ])("%s becomes %s", (text, url, variables) => {
    const template = parsePathTemplate(text);
    expect([routePath(template), template.variables]).toEqual([url, variables]);
  });

  it.each(["tokens", "/", "/tokens/", "/{a.b}", "/{id=**}", "/tokens:search", "/Tokens", "/{}", "/a//b"])(
    "cannot be %s",
    (text) => {
      expect(() => parsePathTemplate(text)).toThrow(/^the path /);
    },
  );
});
