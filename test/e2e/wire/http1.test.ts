import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { beforeAll, describe, expect, inject, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";

/** The response bytes of a connection, and whether the server closed it. */
interface Exchange {
  readonly statuses: readonly number[];
  readonly closed: boolean;
  readonly text: string;
}

/** How long a connection may stay open after its last response before it counts as kept open. */
const LEFT_OPEN_MS = 400;

/** Sends bytes unchanged and reads until the server closes, or keeps the connection open after `answers` responses. */
function exchange(bytes: string, responses: number): Promise<Exchange> {
  const { hostname, port } = new URL(inject("serverUrl"));
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    let leftOpen: NodeJS.Timeout | undefined;
    const statusesIn = () => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    const end = (closed: boolean) => {
      clearTimeout(leftOpen);
      socket.destroy();
      resolve({ statuses: statusesIn(), closed, text });
    };
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (statusesIn().length >= responses) leftOpen ??= setTimeout(() => end(false), LEFT_OPEN_MS);
    });
    socket.on("error", () => {});
    socket.once("close", () => end(true));
    socket.write(Buffer.from(bytes, "latin1"));
  });
}

const HOST = "Host: vault.example";
const get = (...lines: readonly string[]) => ["GET /healthz HTTP/1.1", ...lines].join("\r\n").concat("\r\n\r\n");
const post = (lines: readonly string[], body = "") =>
  ["POST /tokens HTTP/1.1", HOST, ...lines].join("\r\n").concat(`\r\n\r\n${body}`);
const chunked = (body: string) => post(["Transfer-Encoding: chunked"], body);
const LAST_CHUNK = "0\r\n\r\n";

/**
 * Requests that a server and a proxy before it could read in two ways: rejected, and the connection closed (RFC 9112).
 */
const REFUSED: readonly (readonly [what: string, bytes: string])[] = [
  // 3.2: the host
  ["two Host headers", get("Host: a", "Host: b")],
  ["two Host headers alike", get("Host: a", "Host: a")],
  ["two Host headers in different case", get("Host: a", "hOSt: b")],
  ["no Host header", get("X-A: b")],
  ["two Host headers in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"],
  // 2.3: the version
  ["HTTP/0.9 by name", `GET /healthz HTTP/0.9\r\n${HOST}\r\n\r\n`],
  ["HTTP/0.9 without a version", "GET /healthz\r\n\r\n"],
  ["HTTP/1.2", `GET /healthz HTTP/1.2\r\n${HOST}\r\n\r\n`],
  ["HTTP/1.10", `GET /healthz HTTP/1.10\r\n${HOST}\r\n\r\n`],
  ["HTTP/2.0 by name", `GET /healthz HTTP/2.0\r\n${HOST}\r\n\r\n`],
  ["HTTP/3.0", `GET /healthz HTTP/3.0\r\n${HOST}\r\n\r\n`],
  ["a version in lower case", `GET /healthz http/1.1\r\n${HOST}\r\n\r\n`],
  // 3: the request line
  ["a method in lower case", `get /healthz HTTP/1.1\r\n${HOST}\r\n\r\n`],
  ["an invalid method", `STEAL /healthz HTTP/1.1\r\n${HOST}\r\n\r\n`],
  ["a tab after the method", `GET\t/healthz HTTP/1.1\r\n${HOST}\r\n\r\n`],
  ["a blank in the target", `GET /heal thz HTTP/1.1\r\n${HOST}\r\n\r\n`],
  ["a target without a slash", `GET healthz HTTP/1.1\r\n${HOST}\r\n\r\n`],
  ["a NUL in the target", `GET /heal\0thz HTTP/1.1\r\n${HOST}\r\n\r\n`],
  // 5: fields
  ["a blank before the colon", get(HOST, "X-A : b")],
  ["a blank before the first name", get(" X-A: b", HOST)],
  ["a folded line", get(HOST, "X-A: b", " c")],
  ["a folded line with a tab", get(HOST, "X-A: b", "\tc")],
  ["a line without a colon", get(HOST, "X-A")],
  ["a name that is empty", get(HOST, ": b")],
  ["a name with a bracket", get(HOST, "X(A): b")],
  ["a name with a NUL", get(HOST, "X\0A: b")],
  ["a value with a NUL", get(HOST, "X-A: b\0c")],
  ["a bare carriage return in a value", get(HOST, "X-A: b\rc")],
  ["a bare line feed between fields", get("Host: vault.example\nX-A: b")],
  ["bare line feeds everywhere", `GET /healthz HTTP/1.1\n${HOST}\n\n`],
  // 6: the length
  ["a length and chunks", post(["Content-Length: 5", "Transfer-Encoding: chunked"], LAST_CHUNK)],
  ["chunks and a length", post(["Transfer-Encoding: chunked", "Content-Length: 5"], LAST_CHUNK)],
  ["two lengths", post(["Content-Length: 3", "Content-Length: 4"], "abc")],
  ["two lengths alike", post(["Content-Length: 3", "Content-Length: 3"], "abc")],
  ["a list of lengths", post(["Content-Length: 3, 3"], "abc")],
  ["a length with a sign", post(["Content-Length: +3"], "abc")],
  ["a length below zero", post(["Content-Length: -1"])],
  ["a length in hexadecimal", post(["Content-Length: 0x3"], "abc")],
  ["a length with a blank in it", post(["Content-Length: 3 3"], "abc")],
  ["an empty length", post(["Content-Length:"])],
  ["a length beyond 64 bits", post(["Content-Length: 18446744073709551617"], "abc")],
  ["chunks in HTTP/1.0", `POST /tokens HTTP/1.0\r\n${HOST}\r\nTransfer-Encoding: chunked\r\n\r\n${LAST_CHUNK}`],
  ["an invalid coding", post(["Transfer-Encoding: xchunked"], LAST_CHUNK)],
  ["the identity coding", post(["Transfer-Encoding: identity"])],
  ["another coding before chunks", post(["Transfer-Encoding: gzip, chunked"], LAST_CHUNK)],
  ["another coding after chunked", post(["Transfer-Encoding: chunked, gzip"], LAST_CHUNK)],
  ["chunks twice", post(["Transfer-Encoding: chunked, chunked"], LAST_CHUNK)],
  ["two codings in two fields", post(["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], LAST_CHUNK)],
  ["a coding in quotes", post(['Transfer-Encoding: "chunked"'], LAST_CHUNK)],
  ["a coding with a parameter", post(["Transfer-Encoding: chunked;q=1"], LAST_CHUNK)],
  ["a coding after a vertical tab", post(["Transfer-Encoding:\x0bchunked"], LAST_CHUNK)],
  ["an empty coding", post(["Transfer-Encoding:"])],
  // 7.1: chunks
  ["a chunk of a negative size", chunked(`-2\r\n{}\r\n${LAST_CHUNK}`)],
  ["a chunk size with a prefix", chunked(`0x2\r\n{}\r\n${LAST_CHUNK}`)],
  ["a chunk size beyond 64 bits", chunked(`FFFFFFFFFFFFFFFFF\r\n{}\r\n${LAST_CHUNK}`)],
  ["a blank after a chunk size", chunked(`2 \r\n{}\r\n${LAST_CHUNK}`)],
  ["chunks that end with line feeds", chunked("2\n{}\n0\n\n")],
  ["a chunk that is longer than its size", chunked(`2\r\n{}XX\r\n${LAST_CHUNK}`)],
  // RFC 9113, 3.4: the HTTP/2 preface after a request of HTTP/1.1 changes nothing
  ["the preface of HTTP/2 as a request", "PRI * HTTP/2.0\r\nHost: a\r\n\r\n"],
];

/** Heads beyond 32 KB or 200 fields. */
const TOO_LARGE: readonly (readonly [what: string, bytes: string])[] = [
  ["a field of 40 KB", get(HOST, `X-A: ${"a".repeat(40_000)}`)],
  ["a target of 40 KB", `GET /${"a".repeat(40_000)} HTTP/1.1\r\n${HOST}\r\n\r\n`],
  ["300 fields", get(HOST, ...Array.from({ length: 300 }, () => "X-A: b"))],
  ["a second Host after 300 fields", get(HOST, ...Array.from({ length: 300 }, () => "X-A: b"), "Host: b")],
];

/** Odd requests that can be read in one way only. */
const TAKEN: readonly (readonly [what: string, bytes: string, status: number])[] = [
  [
    "an absolute target that names another host",
    `GET http://elsewhere.example/healthz HTTP/1.1\r\n${HOST}\r\n\r\n`,
    200,
  ],
  ["an absolute target of a method", `GET http://elsewhere.example/tokens HTTP/1.1\r\n${HOST}\r\n\r\n`, 401],
  ["an empty Host header", get("Host:"), 200],
  ["HTTP/1.0 without a Host header", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200],
  ["line ends before the request line", `\r\n\r\n${get(HOST)}`, 200],
  ["chunks in capitals", post(["Transfer-Encoding: CHUNKED"], LAST_CHUNK), 401],
  ["chunks with an extension", chunked(`2;a=b\r\n{}\r\n${LAST_CHUNK}`), 401],
  [
    "an upgrade to clear HTTP/2",
    get(HOST, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA"),
    200,
  ],
  ["an upgrade to WebSocket", get(HOST, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"), 200],
  ["an invalid expectation", post(["Expect: miracles", "Content-Length: 0"]), 417],
  ["TRACE of a method's path", `TRACE /tokens HTTP/1.1\r\n${HOST}\r\n\r\n`, 405],
  ["TRACE of a proxy", `TRACE /proxy/x HTTP/1.1\r\n${HOST}\r\n\r\n`, 405],
  ["OPTIONS of the whole server", `OPTIONS * HTTP/1.1\r\n${HOST}\r\n\r\n`, 204],
  ["GET of the whole server", `GET * HTTP/1.1\r\n${HOST}\r\n\r\n`, 404],
];

let other: RestClient;
beforeAll(async () => {
  other = await (await newTenant()).backEnd();
});

describe("over HTTP/1.1", () => {
  it.each(REFUSED)("%s is rejected, and closes the connection", async (_, bytes) => {
    // After it comes what would be a separate request to a server that reads the first one differently.
    const { statuses, closed } = await exchange(`${bytes}${get(HOST)}`, 2);
    expect({ statuses, closed }).toEqual({ statuses: [400], closed: true });
  });

  it.each(TOO_LARGE)("%s are too much, and close the connection", async (_, bytes) => {
    expect(await exchange(bytes, 2)).toMatchObject({ statuses: [431], closed: true });
  });

  it.each(TAKEN)("%s is accepted with its literal meaning", async (_, bytes, status) => {
    expect(await exchange(bytes, 1)).toMatchObject({ statuses: [status], closed: false });
  });

  it("a tunnel is not opened", async () => {
    const { text, closed } = await exchange("CONNECT vault.example:443 HTTP/1.1\r\nHost: vault.example:443\r\n\r\n", 1);
    expect({ text, closed }).toEqual({ text: "", closed: true });
  });

  it("a request body is not echoed in a response to TRACE", async () => {
    const { text } = await exchange(`TRACE /tokens HTTP/1.1\r\n${HOST}\r\nX-Secret: of-the-caller\r\n\r\n`, 1);
    expect(text).not.toContain("of-the-caller");
  });

  it("a rejection has a reason, in the usual error format", async () => {
    const { text } = await exchange(get("Host: a", "Host: b"), 1);
    const [head = "", body = ""] = text.split("\r\n\r\n");
    expect(head.toLowerCase()).toContain("connection: close");
    expect(JSON.parse(body)).toMatchObject({
      ...{ status: 400, code: "malformed_body", detail: "The request has more than one Host header." },
    });
  });

  it.each([
    ["a request line of another protocol", "HELO vault\r\n\r\n", 400, "malformed_body", "not valid HTTP/1.1"],
    ["a blank before a colon", get(HOST, "X-A : b"), 400, "malformed_body", "not valid HTTP/1.1"],
    ["no Host header", get(), 400, "malformed_body", "needs a Host header"],
    ["headers that are too large", get(HOST, `X-A: ${"a".repeat(40_000)}`), 431, "headers_too_large", "32768 bytes"],
    ["too many headers", get(HOST, ...Array.from({ length: 300 }, () => "X-A: b")), 431, "headers_too_large", "200"],
    ["an invalid chunk", chunked(`xyz\r\n{}\r\n${LAST_CHUNK}`), 400, "malformed_body", "not valid HTTP/1.1"],
  ])("%s is rejected with problem details", async (_, bytes, status, code, detail) => {
    const { text, closed } = await exchange(bytes, 2);
    const [head = "", body = ""] = text.split("\r\n\r\n");
    const trace = /^bt-trace-id: (.+)$/m.exec(head)?.[1];
    expect(head).toMatch(/^content-type: application\/json; charset=utf-8\r?$/m);
    expect(head.toLowerCase()).toContain("connection: close");
    expect(JSON.parse(body)).toMatchObject({
      ...{ status, code, detail: expect.stringContaining(detail), instance: `urn:cloakroom:trace:${trace?.trim()}` },
    });
    expect(closed).toBe(true);
  });

  it("an unknown expectation is rejected with problem details, over HTTP/2 too", async () => {
    const problem = { status: 417, code: "expectation_failed", detail: expect.stringContaining("100-continue") };
    const { text } = await exchange(post(["Expect: miracles", "Content-Length: 0"]), 1);
    expect(JSON.parse(text.split("\r\n\r\n")[1] ?? "")).toMatchObject(problem);
    const session = connectHttp2(inject("serverUrl"));
    const stream = session.request({ ":method": "POST", ":path": "/tokens", expect: "miracles" }, { endStream: true });
    let body = "";
    for await (const chunk of stream) body += String(chunk);
    session.close();
    expect(JSON.parse(body)).toMatchObject(problem);
  });

  it("other callers are served throughout", async () => {
    const attacks = REFUSED.map(([, bytes]) => exchange(bytes, 1));
    for (let probe = 0; probe < 20; probe += 1) expect((await other("GET", "/tokens")).status).toBe(200);
    await Promise.all(attacks);
  });
});
