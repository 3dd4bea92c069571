import { describe, expect, it } from "vitest";
import type { Json } from "../../src/base/json.js";
import { StubbedHostCalls, type TestFetch, type TestStubs } from "../../src/functions/test-stubs.js";
import { BtRefusal, HostFailure, type HostFetchRequest } from "../../src/sandbox/host-calls.js";

const SIGNAL = new AbortController().signal;
const stub = (more: Partial<TestFetch>): TestFetch => ({
  method: undefined,
  url: "https://a.example/x",
  status: 200,
  headers: {},
  body: null,
  ...more,
});
const request = (url: string, method = "GET"): HostFetchRequest => ({ url, method, headers: [] });
const offline = () => Promise.reject(new Error("the network was used"));
const hosts = (stubs: Partial<TestStubs>, network: (asked: HostFetchRequest) => Promise<never> = offline) =>
  new StubbedHostCalls({ network: false, fetch: [], bt: [], hasBt: false, ...stubs }, network);

describe("the prepared response to a request", () => {
  it.each<[string, Partial<TestFetch>, HostFetchRequest, boolean]>([
    ["its address", {}, request("https://a.example/x"), true],
    ["its address in another spelling", { url: "HTTPS://A.example:443/x" }, request("https://a.example/x"), true],
    ["an address without a path", { url: "https://a.example" }, request("https://a.example/"), true],
    ["another path", {}, request("https://a.example/x/"), false],
    ["another query", {}, request("https://a.example/x?y"), false],
    ["the beginning of its address", { url: "https://a.example/*" }, request("https://a.example/x?y"), true],
    ["the beginning of another host", { url: "https://a.example*" }, request("https://a.example.evil/"), true],
    ["every address", { url: "*" }, request("http://b.example"), true],
    ["any method", {}, request("https://a.example/x", "DELETE"), true],
    ["its method in lower case", { method: "post" }, request("https://a.example/x", "POST"), true],
    ["another method", { method: "POST" }, request("https://a.example/x", "GET"), false],
    ["a text that is no address", { url: "x" }, request("https://a.example/x"), false],
  ])("is found by %s: %s", async (_, prepared, asked, isFound) => {
    const response = hosts({ fetch: [stub(prepared)] }).hostCalls.fetch(asked, SIGNAL);
    if (isFound) await expect(response).resolves.toMatchObject({ status: 200 });
    else await expect(response).rejects.toThrow(HostFailure);
  });

  it("is the first that matches", async () => {
    const { hostCalls } = hosts({ fetch: [stub({ url: "https://a.example/*", status: 201 }), stub({ status: 202 })] });
    expect((await hostCalls.fetch(request("https://a.example/x"), SIGNAL)).status).toBe(201);
  });

  it.each<[Json, Readonly<Record<string, string>>, string, readonly (readonly [string, string])[]]>([
    ["text", {}, "text", []],
    [{ a: 1 }, {}, '{"a":1}', [["content-type", "application/json"]]],
    [null, {}, "null", [["content-type", "application/json"]]],
    [[1], { "Content-TYPE": "application/x" }, "[1]", [["Content-TYPE", "application/x"]]],
  ])("has the body %j with the headers %j", async (body, headers, text, sent) => {
    const { hostCalls } = hosts({ fetch: [stub({ body, headers })] });
    expect(await hostCalls.fetch(request("https://a.example/x"), SIGNAL)).toMatchObject({
      body: { text },
      headers: sent,
    });
  });
});

describe("a request without a prepared response", () => {
  it("goes to the network only if the test allows it", async () => {
    await expect(hosts({ network: true }).hostCalls.fetch(request("https://b.example"), SIGNAL)).rejects.toThrow(
      "the network was used",
    );
    await expect(hosts({}).hostCalls.fetch(request("https://b.example"), SIGNAL)).rejects.toMatchObject({
      code: "ENOANSWER",
    });
  });
});

describe("the responses of bt", () => {
  const responses = [
    { method: "tokenize", status: 200, body: 1 },
    { method: "tokens.retrieve", status: 404, body: { detail: "x" } },
    { method: "tokenize", status: 200, body: 2 },
  ];
  const called = (calls: StubbedHostCalls, method: "tokenize" | "tokens.retrieve" | "detokenize") =>
    calls.hostCalls.bt?.(method, null, SIGNAL);

  it("come in turn for each method, and the last is repeated", async () => {
    const calls = hosts({ bt: responses });
    expect([await called(calls, "tokenize"), await called(calls, "tokenize"), await called(calls, "tokenize")]).toEqual(
      [1, 2, 2],
    );
  });

  it("with an error status are refusals", async () => {
    await expect(called(hosts({ bt: responses }), "tokens.retrieve")).rejects.toEqual(
      new BtRefusal(404, { detail: "x" }),
    );
  });

  it.each<[Partial<TestStubs>, boolean]>([
    [{}, false],
    [{ hasBt: true }, true],
    [{ bt: responses }, true],
  ])("exist as the test asks for them: %j", (stubs, exists) => {
    expect(hosts(stubs).hostCalls.bt !== undefined).toBe(exists);
  });

  it("are failures that say what to do if none was prepared", async () => {
    await expect(called(hosts({ hasBt: true }), "detokenize")).rejects.toMatchObject({
      code: "ENOANSWER",
      message: "This test run has no response to bt.detokenize: give one in outside.bt.",
    });
  });
});

describe("the calls of a test run", () => {
  it("are recorded in their order, with who answered", async () => {
    const calls = hosts({
      network: true,
      fetch: [stub({ status: 204 })],
      bt: [{ method: "tokenize", status: 400, body: null }],
    });
    const { hostCalls } = calls;
    await hostCalls.fetch(request("https://a.example/x", "PUT"), SIGNAL);
    await hostCalls.fetch(request("https://b.example/"), SIGNAL).catch(() => {});
    await hostCalls.bt?.("tokenize", null, SIGNAL).catch(() => {});
    await hostCalls.bt?.("detokenize", null, SIGNAL).catch(() => {});
    expect(calls.calls.map(({ to, method, answeredBy, status }) => [to, method, answeredBy, status])).toEqual([
      ["fetch", "PUT", "test", 204],
      ["fetch", "GET", "network", undefined],
      ["bt", "tokenize", "test", 400],
      ["bt", "detokenize", "nothing", undefined],
    ]);
  });

  it("are recorded up to a hundred", async () => {
    const calls = hosts({ fetch: [stub({})] });
    for (let call = 0; call < 150; call += 1) await calls.hostCalls.fetch(request("https://a.example/x"), SIGNAL);
    expect(calls.calls).toHaveLength(100);
  });
});
