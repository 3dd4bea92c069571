import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forwardedHeaders, forwardedQuery, proxyKeyIn, returnedHeaders } from "../../src/proxy/forward.js";
import { destinationTarget } from "../../src/proxy/request-target.js";
import { faultFields } from "../expressions/faults.js";

describe("the target at a destination", () => {
  it.each([
    ["https://h", "", "", "/"],
    ["https://h", "", "?a=/b/c", "/?a=/b/c"],
    ["https://h?k=v/w", "", "?a", "/?k=v/w&a"],
    ["https://h?k=v", "/p", "", "/p?k=v"],
    ["https://h/base", "", "", "/base"],
    ["https://h/base/", "", "", "/base/"],
    ["https://h/base/", "/p", "", "/base/p"],
    ["https://h:8443/base?x=1", "/p/", "?y=%20", "/base/p/?x=1&y=%20"],
    ["https://h/base", "/http://other/", "", "/base/http://other/"],
  ])("joins %s, %s and %s to %s", (base, path, query, target) => {
    expect(destinationTarget(base, path, query)).toBe(target);
  });

  it.each([
    ["p", "path"],
    [".evil.example/x", "path"],
    ["@evil.example/", "path"],
    ["/a b", "path"],
    ["/a\r\nX: y", "path"],
    ["/a#b", "path"],
    ["/✓", "path"],
    ["/a/..", "path"],
    ["/%2E%2e/a", "path"],
  ])("is undefined for the path %j", (path, field) => {
    expect(Object.keys(faultFields(() => destinationTarget("https://h/base", path, "")) ?? {})).toEqual([field]);
  });

  it("always begins with the destination's own path", () => {
    fc.assert(
      fc.property(fc.webPath(), fc.webQueryParameters(), (path, query) => {
        try {
          const target = destinationTarget("https://h/base", path, query === "" ? "" : `?${query}`);
          expect(new URL(`https://h${target}`).pathname.startsWith("/base")).toBe(true);
          expect(new URL(`https://h${target}`).host).toBe("h");
        } catch (error) {
          if (!(error instanceof Error) || error.name !== "Fault") throw error;
        }
      }),
    );
  });
});

describe("the forwarded query", () => {
  it.each([
    ["", ""],
    ["?", "?"],
    ["?bt-proxy-key=k", ""],
    ["?a=1&bt-proxy-key=k&b", "?a=1&b"],
    ["?bt-proxy-key=k&bt-proxy-key=l&&c", "?&c"],
    ["?bt%2dproxy%2dkey=k", ""],
    ["?bt-proxy-key2=k&xbt-proxy-key=l", "?bt-proxy-key2=k&xbt-proxy-key=l"],
    ["?a=bt-proxy-key=k", "?a=bt-proxy-key=k"],
    ["?%zz=%&+", "?%zz=%&+"],
  ])("turns %s into %s", (query, forwarded) => {
    expect(forwardedQuery(query)).toBe(forwarded);
  });

  it("never contains the key, and is otherwise unchanged", () => {
    const pair = fc.oneof(
      fc.constantFrom("bt-proxy-key=x", "bt%2Dproxy%2Dkey", "a=b", "", "%"),
      fc.webQueryParameters(),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 6 }), (pairs) => {
        const query = `?${pairs.join("&")}`;
        const forwarded = forwardedQuery(query);
        expect(proxyKeyIn(forwarded)).toBeUndefined();
        if (proxyKeyIn(query) === undefined) expect(forwarded).toBe(query);
      }),
    );
  });
});

describe("headers", () => {
  it("added by us or by hops are not forwarded, in any case", () => {
    const names = [
      "BT-API-KEY",
      "bt-x",
      "Connection",
      "KEEP-alive",
      "Transfer-Encoding",
      "Te",
      "Upgrade",
      "Expect",
      "HOST",
      "a.b",
      ":path",
    ];
    expect(forwardedHeaders(names.map((name) => [name, "x"]))).toEqual([]);
    expect(
      returnedHeaders([
        ["Connection", "close"],
        ["keep-alive", "x"],
        ["X", "1"],
        ["Content-Length", "2"],
        ["x.y", "3"],
      ]),
    ).toEqual([
      ["X", "1"],
      ["Content-Length", "2"],
      ["x.y", "3"],
    ]);
  });

  it("are for one connection too if Connection names them, in both directions", () => {
    const given = [
      ["Connection", "close, X-Foo"],
      ["x-foo", "1"],
      ["connection", ",  x-bar\t,"],
      ["X-Bar", "2"],
      ["X-Foo-2", "3"],
    ] as const;
    expect(forwardedHeaders(given)).toEqual([["X-Foo-2", "3"]]);
    expect(returnedHeaders(given)).toEqual([["X-Foo-2", "3"]]);
  });

  it("stay if they say what a message is or who sends it, whatever Connection names", () => {
    const kept = [
      ["Authorization", "Bearer x"],
      ["Cookie", "a=b"],
      ["Content-Length", "2"],
      ["content-type", "application/json"],
      ["Content-Encoding", "gzip"],
      ["Set-Cookie", "a=b"],
      ["Cache-Control", "no-store"],
      ["Location", "/x"],
    ] as const;
    const naming = ["Connection", kept.map(([name]) => name).join(", ")] as const;
    expect(forwardedHeaders([naming, ...kept])).toEqual(kept);
    expect(returnedHeaders([naming, ...kept])).toEqual(kept);
  });

  it("requested by the caller are not what Connection names", () => {
    const named = [["Connection", "bt-proxy-connection, connection"] as const, ["BT-PROXY-CONNECTION", "a"] as const];
    expect(forwardedHeaders(named)).toEqual([["CONNECTION", "a"]]);
  });

  it("requested by the caller replace the hop-by-hop ones", () => {
    expect(
      forwardedHeaders([
        ["bt-proxy-CONNECTION", "a"],
        ["Connection", "b"],
        ["BT-PROXY-KEEP-ALIVE", "c"],
      ]),
    ).toEqual([
      ["KEEP-ALIVE", "c"],
      ["CONNECTION", "a"],
    ]);
  });
});
