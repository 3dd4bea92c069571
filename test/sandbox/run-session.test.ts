import { describe, expect, test } from "vitest";
import type { Json } from "../../src/base/json.js";
import { BtRefusal, type HostCalls, HostFailure } from "../../src/sandbox/host-calls.js";
import { defaultLimits, type RunLimits } from "../../src/sandbox/limits.js";
import { failed } from "../../src/sandbox/run.js";
import { RunSession } from "../../src/sandbox/run-session.js";

/** The service's own side of host calls, as used by a runner that ignores all limits. */
const open = (hosts: Partial<HostCalls>, limits: Partial<RunLimits> = {}) =>
  new RunSession(
    { fetch: () => Promise.reject(new Error("no network")), ...hosts },
    { ...defaultLimits("reactor"), ...limits },
  );
const btCall = (args: Json = 1) => Buffer.from(JSON.stringify({ to: "bt", method: "tokenize", args }));
const reply = async (session: RunSession, payload: Buffer): Promise<Json | undefined> => {
  const bytes = await session.call(payload);
  return bytes && JSON.parse(bytes.toString());
};

describe("a host call", () => {
  test("is answered by the host of its run", async () => {
    expect(await reply(open({ bt: async (method, args) => [method, args] }), btCall("x"))).toEqual({
      ok: ["tokenize", "x"],
    });
    const fetched = { status: 200, statusText: "OK", headers: [["a", "b"]] as const, body: { text: "t" } };
    const request = { method: "GET", url: "https://a", headers: [] };
    expect(
      await reply(open({ fetch: async () => fetched }), Buffer.from(JSON.stringify({ to: "fetch", request }))),
    ).toEqual({ ok: fetched });
  });

  test.each([
    ["a refusal of the API", new BtRefusal(403, { title: "no" }), { refused: { status: 403, body: { title: "no" } } }],
    [
      "a failure that the guest may see",
      new HostFailure("ETIMEDOUT", "too slow"),
      { failed: { code: "ETIMEDOUT", message: "too slow" } },
    ],
    ["anything else", new Error("secret detail"), { failed: { code: "EFAILED", message: "the call failed" } }],
  ])("returns %s", async (_name, error, expected) => {
    expect(await reply(open({ bt: () => Promise.reject(error) }), btCall())).toEqual(expected);
  });

  test.each([
    ["no JSON", Buffer.from("{")],
    ["no call", Buffer.from('{"to":"elsewhere"}')],
    ["nested without end", Buffer.from(`{"to":"bt","method":"tokenize","args":${"[".repeat(500)}${"]".repeat(500)}}`)],
  ])("does not reach the host if it is %s", async (_name, payload) => {
    let reached = false;
    const bt = async () => {
      reached = true;
      return null;
    };
    expect(await reply(open({ bt }), payload)).toEqual({ failed: { code: "EFAILED", message: "the call failed" } });
    expect(reached).toBe(false);
  });

  test("to bt is refused if the function has no application", async () => {
    expect(await reply(open({}), btCall())).toEqual({
      failed: { code: "EACCES", message: "this function has no application" },
    });
  });
});

describe("limits hold even if the runner ignores them", () => {
  test("on all calls", async () => {
    let reached = 0;
    const bt = async () => {
      reached += 1;
      return null;
    };
    const session = open({ bt }, { hostCalls: 3 });
    const replies: (Json | undefined)[] = [];
    for (let i = 0; i < 5; i++) replies.push(await reply(session, btCall()));
    expect(replies.slice(3)).toEqual(
      Array(2).fill({ failed: { code: "ELIMIT", message: "one run may make 3 calls" } }),
    );
    expect(reached).toBe(3);
  });

  test("on concurrent calls", async () => {
    const { promise, resolve } = Promise.withResolvers<null>();
    const session = open({ bt: () => promise }, { hostCallsInFlight: 2 });
    const calls = [reply(session, btCall()), reply(session, btCall()), reply(session, btCall())];
    expect(await calls[2]).toEqual({ failed: { code: "ELIMIT", message: "one run may have 2 calls under way" } });
    resolve(null);
    expect(await Promise.all(calls.slice(0, 2))).toEqual([{ ok: null }, { ok: null }]);
    expect(await reply(session, btCall())).toEqual({ ok: null });
  });

  test("on sizes, both ways", async () => {
    const session = open({ bt: async () => "y".repeat(500) }, { hostCallBytes: 200 });
    expect(await reply(session, btCall("x".repeat(300)))).toEqual({
      failed: { code: "ELIMIT", message: "the request is larger than 200 bytes" },
    });
    expect(await reply(session, btCall())).toEqual({
      failed: { code: "ELIMIT", message: "the response is larger than 200 bytes" },
    });
  });
});

test("when the run ends, its calls are aborted and their responses dropped", async () => {
  const seen: AbortSignal[] = [];
  const { promise, resolve } = Promise.withResolvers<null>();
  const bt = (_method: unknown, _args: unknown, signal: AbortSignal) => {
    seen.push(signal);
    return promise;
  };
  const session = open({ bt });
  const call = session.call(btCall());
  session.end(failed("timeout"));
  session.end(failed("memory"));
  resolve(null);
  expect(await call).toBeUndefined();
  expect(seen.map((signal) => signal.aborted)).toEqual([true]);
  expect(await session.outcome).toEqual(failed("timeout"));
});
