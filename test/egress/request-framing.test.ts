import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FramedRequest, frameRequest, type HeaderPair } from "../../src/egress/request-framing.js";

function framed(method: string, headers: readonly HeaderPair[], body?: Uint8Array | Readable): FramedRequest {
  return frameRequest("api.example.com", method, headers, body);
}

/** The headers after Host, as "Name: value". */
function lines(method: string, headers: readonly HeaderPair[], body?: Uint8Array | Readable): readonly string[] {
  const [host, ...rest] = framed(method, headers, body).headers.map((pair) => pair.join(": "));
  expect(host).toBe("Host: api.example.com");
  return rest;
}

describe("the headers of a request", () => {
  it("keep their order, case and repetitions", () => {
    const given: readonly HeaderPair[] = [
      ["x-B", "2"],
      ["X-a", "1"],
      ["x-b", "3"],
      ["KEEP-ALIVE", "timeout=9"],
      ["CONNECTION", "whatever"],
    ];
    expect(lines("GET", given)).toEqual([
      "x-B: 2",
      "X-a: 1",
      "x-b: 3",
      "KEEP-ALIVE: timeout=9",
      "CONNECTION: whatever",
    ]);
  });

  it("contain the host of the URL, whatever the caller says", () => {
    expect(
      lines("GET", [
        ["HOST", "other.example"],
        ["A", "1"],
        ["host", "third.example"],
      ]),
    ).toEqual(["A: 1"]);
  });

  it.each([
    ["GET", undefined, []],
    ["HEAD", undefined, []],
    ["DELETE", undefined, []],
    ["POST", undefined, ["Content-Length: 0"]],
    ["PATCH", undefined, ["Content-Length: 0"]],
    ["PROPFIND", undefined, ["Content-Length: 0"]],
    ["POST", Buffer.from("héllo"), ["Content-Length: 6"]],
    ["GET", Buffer.from("x"), ["Content-Length: 1"]],
    ["POST", Buffer.alloc(0), ["Content-Length: 0"]],
    ["POST", Readable.from(["x"]), ["Transfer-Encoding: chunked"]],
    ["DELETE", Readable.from(["x"]), ["Transfer-Encoding: chunked"]],
  ] as const)("state for %s where the body %j ends", (method, body, expected) => {
    expect(lines(method, [], body)).toEqual(expected);
  });

  it("have the true length in the caller's place and case", () => {
    const given: readonly HeaderPair[] = [
      ["content-LENGTH", "99"],
      ["A", "1"],
      ["Content-Length", "2"],
    ];
    expect(lines("POST", given, Buffer.from("abc"))).toEqual(["content-LENGTH: 3", "A: 1"]);
    expect(lines("GET", [["Content-Length", "5"]])).toEqual(["Content-Length: 0"]);
  });

  it.each(["abc", "-1", "1.5", "0x10", "", "1, 1", "9".repeat(16)])(
    "do not take the length %j of a stream",
    (length) => {
      expect(lines("POST", [["Content-Length", length]], Readable.from(["x"]))).toEqual(["Transfer-Encoding: chunked"]);
    },
  );

  it("never contain two statements about the body's end", () => {
    const name = fc.constantFrom("Content-Length", "content-length", "Transfer-Encoding", "TRAILER", "Host", "X");
    const pair = fc.tuple(name, fc.constantFrom("0", "3", "7", "chunked", "identity", "gzip, chunked", "x"));
    const body = fc.constantFrom(undefined, Buffer.from("abc"), "stream" as const);
    fc.assert(
      fc.property(fc.constantFrom("GET", "POST"), fc.array(pair), body, (method, given, kind) => {
        const sent = kind === "stream" ? new Readable({ read() {} }) : kind;
        const found = lines(method, given, sent).filter((line) =>
          /^(content-length|transfer-encoding|trailer|host):/i.test(line),
        );
        return found.length <= 1 && (kind === undefined || found.length === 1);
      }),
    );
  });
});

describe("a stream with a promised length", () => {
  const send = (length: string, ...chunks: readonly string[]) => {
    const source = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    return { source, ...framed("POST", [["Content-Length", length]], source) };
  };
  const read = async ({ body }: FramedRequest) =>
    body instanceof Readable ? (await buffer(body)).toString() : expect.unreachable();

  it("passes if it has that length", async () => {
    const request = send("6", "abc", "def");
    expect(request.headers).toContainEqual(["Content-Length", "6"]);
    expect(await read(request)).toBe("abcdef");
    expect(await read(send("0"))).toBe("");
  });

  it("fails if it is longer, and forwards nothing of the excess", async () => {
    const { body, source } = send("3", "abc", "GET /smuggled HTTP/1.1");
    let through = "";
    const failure = await new Promise((resolve) => {
      if (!(body instanceof Readable)) expect.unreachable();
      body.on("data", (chunk: Buffer) => {
        through += chunk.toString();
      });
      body.once("error", resolve);
    });
    expect(failure).toMatchObject({ message: "The body is longer than its Content-Length." });
    expect(through).toBe("abc");
    expect(source.destroyed).toBe(true);
  });

  it("fails if it is shorter, breaks or is cancelled", async () => {
    await expect(read(send("9", "abc"))).rejects.toThrow("shorter");
    const broken = send("9", "abc");
    broken.source.destroy(new Error("The client went away."));
    await expect(read(broken)).rejects.toThrow("The client went away.");
    const givenUp = send("9", "abc");
    givenUp.source.destroy();
    await expect(read(givenUp)).rejects.toThrow("ended early");
  });
});
