import { describe, expect, it } from "vitest";
import type { Pipeline } from "../../../src/api/pipeline/pipeline.js";
import { RestPaths } from "../../../src/api/rest/rest-paths.js";
import { parsePathTemplate, routePath } from "../../../src/api/routes/path-template.js";
import { routes } from "../../support/rest-routes.js";

const never = () => Promise.reject(new Error("is not called"));
const pipelineOf = (method: Pipeline["method"]): Pipeline => ({
  ...{ method, takesMask: false, admit: never, admitCaller: never, run: never },
});
const paths = new RestPaths(routes.map((rest) => ({ rest, pipeline: pipelineOf(rest.method), scope: undefined })));
const methodsAt = (target: string) => [...(paths.find(target)?.path.routes.keys() ?? [])].toSorted();

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
    ["/tokens//", ["DELETE", "GET", "PATCH"]],
    ["/tokens%2Fsearch", []],
    ["/tokens/se%61rch", ["POST"]],
    ["/tokens/a/b", []],
    ["/%74okens", ["GET", "POST"]],
    ["/tokens/%", []],
    ["http://vault.example.com/tokens?a", ["GET", "POST"]],
    ["/Tokens", []],
    ["//tokens", []],
    ["/", []],
    ["", []],
  ])("at %s are: %j", (target, methods) => {
    expect(methodsAt(target)).toEqual(methods);
  });

  it.each(routes.map(({ verb, path }) => [verb, path.text] as const))("include %s at %s", (verb, text) => {
    expect(methodsAt(text.replaceAll(/\{\w+\}/g, "0"))).toContain(verb);
  });
});

describe("the variables of a path", () => {
  it.each([
    ["/tokens/abc", { id: "abc" }],
    ["/tokens/a%2Fb%20c/?x=/y", { id: "a/b c" }],
    ["/tokens/%F0%9F%98%80", { id: "\u{1F600}" }],
    ["/tokens/a;b", { id: "a;b" }],
    ["/tokens//", { id: "" }],
    ["/applications/key", {}],
  ])("are those of %s: %j", (target, parameters) => {
    expect(paths.find(target)?.parameters).toEqual(parameters);
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
