import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { NEVER_CLEARED } from "../../scripts/openapi/further-rules.js";
import { functionProblem } from "../../src/api/faults/problem.js";
import { FunctionFailed } from "../../src/functions/function-failed.js";
import {
  description,
  operationNamed,
  operations,
  type PlacedOperation,
  requestValidator,
  resolve,
  responseValidator,
} from "../support/api-description.js";
import { routes } from "../support/rest-routes.js";

const schemaNameOf = ({ operation }: PlacedOperation, mediaType: string) =>
  operation.requestBody?.content[mediaType]?.schema.$ref?.split("/").at(-1);
const isProxy = ({ path }: PlacedOperation) => path === "/proxy" || path === "/proxy/{path}";
const successesOf = ({ operation }: PlacedOperation) =>
  Object.keys(operation.responses).filter((each) => /^2/.test(each));

describe("the document", () => {
  it("passes a public linter with its strictest rules", async () => {
    const { stdout, stderr } = await promisify(execFile)(
      "node_modules/.bin/redocly",
      ["lint", "gen/openapi.json", "--extends=recommended-strict", "--format=json"],
      { env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" } },
    ).catch((error: { stdout: string; stderr: string }) => error);
    const report: { totals: unknown; problems: unknown[] } = JSON.parse(
      stdout || `{"problems":[${JSON.stringify(stderr)}]}`,
    );
    expect(report.problems).toEqual([]);
    expect(report.totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
  });

  it("has exactly the routes that the transcoder serves, with their statuses", () => {
    const served = routes.map(({ verb, path, status }) => `${verb} ${path.text} ${status}`);
    const described = operations
      .filter((each) => !isProxy(each))
      .map((each) => `${each.verb} ${each.path} ${successesOf(each)[0]}`);
    expect(described.toSorted()).toEqual(served.toSorted());
    expect(served.length).toBeGreaterThan(70);
  });

  it("has a second success status only if a run may continue after its response", () => {
    const several = operations.filter((each) => successesOf(each).length > 1);
    expect(several.map((each) => [each.operation.operationId, successesOf(each)])).toEqual([["react", ["200", "202"]]]);
  });

  it("has the raw proxy route, for every verb, with and without a path", () => {
    const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    const proxies = operations.filter(isProxy).map(({ verb, path }) => `${verb} ${path}`);
    expect(proxies.toSorted()).toEqual(verbs.flatMap((verb) => [`${verb} /proxy`, `${verb} /proxy/{path}`]).toSorted());
  });

  it("names every operation once, with a summary and a documented group", () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const groups = new Map(description.tags.map((tag) => [tag.name, tag.description]));
    for (const { operation } of operations) {
      expect(operation.summary, operation.operationId).toMatch(/^[A-Z].{5,}[^.]$/);
      expect(groups.get(operation.tags[0] ?? ""), operation.operationId).toBeTruthy();
    }
  });

  it.each([
    ["createToken", ["400", "401", "403", "409", "413", "415", "429", "503"]],
    ["getToken", ["400", "401", "403", "404", "429", "503"]],
    ["updateToken", ["400", "401", "403", "404", "409", "413", "415", "429", "503"]],
    ["getApplicationByKey", ["401", "429", "503"]],
    ["createSession", ["401", "403", "429", "503"]],
    ["detokenize", ["400", "401", "403", "413", "415", "429", "503"]],
  ])("lists how %s can fail", (id, statuses) => {
    const { responses } = operationNamed(id).operation;
    expect(Object.keys(responses).filter((status) => /^[45]/.test(status))).toEqual(statuses);
    for (const status of statuses) expect(responses[status]?.$ref).toBe(`#/components/responses/Problem${status}`);
    expect(responses.default?.$ref).toBe("#/components/responses/Problem");
  });

  it.each(["react", "getReactorResult"])("documents that %s fails with statuses chosen by code", (id) => {
    const { responses } = operationNamed(id).operation;
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(["400", "402", "404", "422", "500", "503"]));
    const failed = new FunctionFailed(402, "Invalid Payment Method", { error: ["declined"] });
    const thrown = functionProblem(failed, "reactor_error", "trace-1");
    const validate = responseValidator(operationNamed(id), 402);
    const { code: _, ...withoutCode } = thrown;
    const wrong = [{ ...thrown, other: "?" }, { ...thrown, code: "proxy_error" }, withoutCode, { status: 402 }];
    expect([thrown, ...wrong].map((body) => validate(body))).toEqual([true, false, false, false, false]);
  });

  it("documents an idempotency key where the policy allows one, and a merge patch where the server expects one", () => {
    const takesKey = ({ operation }: PlacedOperation) =>
      operation.parameters.some(({ $ref }) => $ref === "#/components/parameters/BT-IDEMPOTENCY-KEY");
    const mediaTypes = ({ operation }: PlacedOperation) => Object.keys(operation.requestBody?.content ?? {});
    expect(takesKey(operationNamed("createToken"))).toBe(true);
    for (const id of ["getToken", "deleteToken", "searchTokens", "detokenize", "react", "proxyPost"]) {
      expect(takesKey(operationNamed(id)), id).toBe(false);
    }
    for (const each of operations.filter((candidate) => candidate.operation.requestBody && !isProxy(candidate))) {
      const isPatch = each.verb === "PATCH";
      expect(mediaTypes(each)).toEqual([isPatch ? "application/merge-patch+json" : "application/json"]);
    }
  });

  it("shows repeated and map parameters, bare lists, and names that differ from the proto", () => {
    const { parameters } = operationNamed("listTokens").operation;
    const query = Object.fromEntries(parameters.map((each) => [each.name, each]));
    expect(query.id).toMatchObject({ in: "query", style: "form", schema: { type: "array", maxItems: 100 } });
    expect(query.metadata).toMatchObject({ in: "query", style: "deepObject", schema: { type: "object" } });
    const bare = operationNamed("listPermissions").operation.responses[200]?.content?.["application/json"]?.schema;
    expect(bare).toMatchObject({ type: "array", items: { $ref: "#/components/schemas/Permission" } });
    const tokenized = operationNamed("tokenize").operation.responses[200]?.content?.["application/json"]?.schema;
    expect(tokenized).toEqual({ description: "The same JSON with tokens in it." });
    expect(Object.keys(resolve({ $ref: "#/components/schemas/ReactAsyncResponse" }).properties ?? {})).toEqual([
      "asyncReactorRequestId",
    ]);
    expect(description.components.schemas.Transaction?.properties?.amount).toMatchObject({
      type: "integer",
      format: "int64",
    });
  });

  it("makes every field of a patch optional, and nullable if it may be cleared", () => {
    const patches = operations.filter(({ verb, path }) => verb === "PATCH" && !path.startsWith("/proxy"));
    expect(patches.map(({ operation }) => operation.operationId)).toEqual([
      "updateProxy",
      "updateReactor",
      "updateToken",
    ]);
    for (const each of patches.filter((candidate) => !isProxy(candidate))) {
      const mediaType = "application/merge-patch+json";
      const validate = requestValidator(each, mediaType);
      const schema = resolve(each.operation.requestBody?.content[mediaType]?.schema ?? {});
      const names = Object.keys(schema.properties ?? {});
      const isNeverCleared = (name: string) => NEVER_CLEARED.has(`${schemaNameOf(each, mediaType)}.${name}`);
      const allNull = Object.fromEntries(names.filter((name) => !isNeverCleared(name)).map((name) => [name, null]));
      expect([validate({}), validate(allNull)], each.operation.operationId).toEqual([true, true]);
      for (const name of names.filter(isNeverCleared))
        expect([name, validate({ [name]: null })]).toEqual([name, false]);
      expect(allNull).not.toHaveProperty("update_mask");
    }
  });
});
