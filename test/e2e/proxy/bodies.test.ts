import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant } from "../../support/tenant.js";
import { type Destination, startDestination } from "./support/destination.js";

const NUMBER = "5555341244441115";
const CARD = { number: NUMBER, expiration_month: 11, expiration_year: 2035 };
/** Would end a string, a header, an element or a parameter that it is inserted into. */
const SECRET = "a\"b'c\\d\r\n<e>&f=é";
const KB = 1024;
const MB = 1024 * KB;
/** Bytes that are not text. */
const BINARY = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff, 0x7b, 0x7b, 0x00, 0x7d, 0x7d]);

describe("references in the body of a proxied request", () => {
  let destination: Destination;
  let backEnd: RestClient & { readonly key: string };
  let card: string;
  let text: string;

  beforeAll(async () => {
    const tenant = await newTenant();
    destination = await startDestination();
    backEnd = await tenant.backEnd();
    card = (await backEnd("POST", "/tokens", { body: { type: "card", data: CARD } })).body.id;
    text = (await backEnd("POST", "/tokens", { body: { type: "token", data: SECRET } })).body.id;
  });
  afterAll(() => destination[Symbol.asyncDispose]());

  interface Sent {
    readonly type?: string;
    readonly headers?: Record<string, string | number | string[]>;
    /** Sends the body in chunks, without a length. */
    readonly isChunked?: boolean;
  }
  /** Sends these bytes and returns the proxy's response. */
  const send = async (body: Buffer | string | Iterable<Buffer>, { type, headers, isChunked = false }: Sent = {}) => {
    const whole = typeof body === "string" || Buffer.isBuffer(body) ? Buffer.from(body) : undefined;
    const outgoing = httpRequest(`${inject("serverUrl")}/proxy`, {
      method: "POST",
      headers: {
        ...{ "BT-API-KEY": backEnd.key, "BT-PROXY-URL": destination.url },
        ...(type === undefined ? {} : { "Content-Type": type }),
        ...(whole && !isChunked ? { "Content-Length": whole.length } : { "Transfer-Encoding": "chunked" }),
        ...headers,
      },
    });
    outgoing.on("error", () => {});
    const responding = once(outgoing, "response");
    if (whole) outgoing.end(whole);
    else Readable.from(body).pipe(outgoing);
    const [response]: IncomingMessage[] = await responding;
    if (!response) throw new Error("there is no response");
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const said = Buffer.concat(chunks).toString();
    return { status: response.statusCode, said };
  };
  const received = async (...sent: Parameters<typeof send>): Promise<Buffer> => {
    const asked = destination.requests.length;
    expect(await send(...sent)).toEqual({ status: 200, said: "fine" });
    expect(destination.requests).toHaveLength(asked + 1);
    return destination.last().body;
  };
  /** Rejected, and no part of a reference was sent. */
  const refused = async (...sent: Parameters<typeof send>): Promise<string> => {
    const asked = destination.requests.length;
    const { status, said } = await send(...sent);
    expect(status, said).toBe(400);
    expect(destination.requests).toHaveLength(asked);
    const { errors, detail } = JSON.parse(said).proxy_error;
    expect(said).not.toContain(NUMBER);
    return errors.body?.[0] ?? errors["headers.Content-Encoding"]?.[0] ?? detail;
  };

  describe("in bodies of any type", () => {
    it.each([
      [
        "application/graphql",
        (id: string) =>
          `mutation { pay(number: "{{ ${id} | json: '$.number' }}", month: {{ ${id} | json: '$.expiration_month' }}) }`,
        `mutation { pay(number: "${NUMBER}", month: 11) }`,
      ],
      [
        "application/x-ndjson",
        (id: string) => `{"a":1.0}\n{"b":"{{ ${id} | json: '$.number' }}"}\n`,
        `{"a":1.0}\n{"b":"${NUMBER}"}\n`,
      ],
      ["application/javascript", (id: string) => `pay('{{ ${id} | json: '$.number' }}')`, `pay('${NUMBER}')`],
      ["application/x-yaml", (id: string) => `card: {{ ${id} | json: '$.number' }}\n`, `card: ${NUMBER}\n`],
      ["application/octet-stream", (id: string) => `{{ ${id} | json: '$.number' }}`, NUMBER],
      ["image/svg", (id: string) => `{{ ${id} | json: '$.number' }}`, NUMBER],
      ["a/b;;", (id: string) => `{{${id} | json: '$.number'}}`, NUMBER],
      ["text/csv", (id: string) => `1,{{ ${id} | json: '$.number' }}\n`, `1,${NUMBER}\n`],
      [undefined, (id: string) => `{{ ${id} | json: '$.number' }}`, NUMBER],
    ])("%s are replaced", async (type, body, expected) => {
      const sent: Sent = type === undefined ? {} : { type };
      expect((await received(body(card), sent)).toString()).toBe(expected);
      expect(destination.last().header("content-length")).toBe(String(Buffer.byteLength(expected)));
      expect((await received(body(card), { ...sent, isChunked: true })).toString()).toBe(expected);
    });

    it.each([undefined, "application/octet-stream", "text/plain", "text/plain;charset=UTF-8"])(
      "cannot end the string they are put into, in JSON that is sent as %s",
      async (type) => {
        const sent = { type, a: [`{{ ${text} }}`], c: `{{ ${card} }}`, m: `<{{ ${text} }}>` };
        const body = await received(JSON.stringify(sent), type === undefined ? {} : { type });
        expect(JSON.parse(body.toString())).toEqual({ ...sent, a: [SECRET], c: CARD, m: `<${SECRET}>` });
      },
    );

    it("cannot end the string they are inserted into in GraphQL and JSON lines either", async () => {
      const graphql = await received(`{ a(b: "{{ ${text} }}", c: {{ ${text} }}) }`, { type: "application/graphql" });
      expect(graphql.toString()).toBe(`{ a(b: ${JSON.stringify(SECRET)}, c: ${JSON.stringify(SECRET)}) }`);
      const lines = await received(`{"a":"{{ ${text} }}"}\n`, { type: "application/jsonl" });
      expect(lines.toString()).toBe(`{"a":${JSON.stringify(SECRET)}}\n`);
    });

    it("are found in JSON with escaped braces", async () => {
      const escaped = `{"a":"\\u007b\\u007B ${card} | json: '$.number' \\u007d}"}`;
      expect((await received(escaped, { type: "application/json" })).toString()).toBe(`{"a":"${NUMBER}"}`);
    });

    it("are found among bytes that are not text, whose other braces stay", async () => {
      const body = Buffer.concat([BINARY, Buffer.from(`{{ ${card} | json: '$.number' }}`), BINARY]);
      for (const type of ["image/png", "application/octet-stream"]) {
        expect(await received(body, { type })).toEqual(Buffer.concat([BINARY, Buffer.from(NUMBER), BINARY]));
      }
      expect(await refused(Buffer.concat([BINARY, Buffer.from("{{ no-such-token }}")]))).toContain("no-such-token");
      expect(await refused(Buffer.concat([BINARY, Buffer.from(`{{ ${card} | nope }}`)]))).toContain(
        "no filter nope (byte 16)",
      );
    });

    it("are rejected if misspelled in text of any type", async () => {
      for (const type of ["application/yaml", "application/octet-stream", undefined]) {
        const sent = type === undefined ? {} : { type };
        expect(await refused(`a\nb: {{ tokn: ${card} }}`, sent)).toContain("unknown prefix");
        expect(await refused(`a\nb: {{ tokn: ${card} }}`, sent)).toContain("(line 2, column 4)");
      }
    });

    it.each(["utf16le", "utf16be"])("are rejected in %s, where no value can be inserted", async (encoding) => {
      const encoded = (body: string) => {
        const bytes = Buffer.from(body, "utf16le");
        return encoding === "utf16le" ? bytes : bytes.swap16();
      };
      for (const type of ["text/plain; charset=utf-16", "application/json", "application/octet-stream", "image/png"]) {
        expect(await refused(encoded(`x: {{ ${card} }}`), { type })).toContain("must be UTF-8 to hold references");
        expect(await received(encoded("x: { no }"), { type })).toEqual(encoded("x: { no }"));
      }
      const multipart = Buffer.concat([
        Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n'),
        encoded(`{{ ${card} }}`),
        Buffer.from("\r\n--b--\r\n"),
      ]);
      expect(await refused(multipart, { type: "multipart/form-data; boundary=b" })).toContain('(part 1 "a")');
    });

    it("are inserted into another charset if it has the same characters", async () => {
      const latin1 = { type: "text/plain; charset=iso-8859-1" };
      expect((await received(`{{ ${card} | json: '$.number' }}`, latin1)).toString()).toBe(NUMBER);
      expect(await refused(`{{ ${text} }}`, latin1)).toContain("charset utf-8");
      expect(await refused(Buffer.from(`é {{ ${text} }}`, "latin1"), latin1)).toContain("must be UTF-8");
      expect(await received(Buffer.from("é", "latin1"), latin1)).toEqual(Buffer.from("é", "latin1"));
    });
  });

  describe("in multipart bodies", () => {
    const type = 'multipart/form-data; boundary="x y"';
    const part = (headers: string, content: string | Buffer) =>
      Buffer.concat([Buffer.from(`--x y\r\n${headers}\r\n\r\n`), Buffer.from(content), Buffer.from("\r\n")]);
    const whole = (...parts: Buffer[]) => Buffer.concat([...parts, Buffer.from("--x y--\r\n")]);
    const field = (name: string, more = "") => `Content-Disposition: form-data; name="${name}"${more}`;

    it("are replaced as each part's type requires, and every other byte stays", async () => {
      const body = whole(
        part(field("plain"), `{{ ${card} | json: '$.number' }}`),
        part(
          field("json", '\r\ncontent-type: application/json; charset="utf-8"'),
          `{ "a" : "{{ ${text} }}", "n":1.0 }`,
        ),
        part(field("untyped"), `{"a":"{{ ${text} }}"}`),
        part(field("xml", "\r\nContent-Type: text/xml"), `<a>{{ ${text} }}</a>`),
        part(field("form", "\r\nContent-Type: application/x-www-form-urlencoded"), `a={{ ${text} }}`),
        part(field("file", '; filename="a.png"\r\nContent-Type: image/png'), BINARY),
        part(field("none", '; filename="a"'), Buffer.concat([BINARY, Buffer.from(`{{${card} | json: '$.number'}}`)])),
        part(field("empty"), ""),
      );
      const expected = whole(
        part(field("plain"), NUMBER),
        part(
          field("json", '\r\ncontent-type: application/json; charset="utf-8"'),
          `{ "a" : ${JSON.stringify(SECRET)}, "n":1.0 }`,
        ),
        part(field("untyped"), JSON.stringify({ a: SECRET })),
        part(field("xml", "\r\nContent-Type: text/xml"), "<a>a&quot;b&apos;c\\d\r\n&lt;e&gt;&amp;f=é</a>"),
        part(
          field("form", "\r\nContent-Type: application/x-www-form-urlencoded"),
          "a=a%22b'c%5Cd%0D%0A%3Ce%3E%26f%3D%C3%A9",
        ),
        part(field("file", '; filename="a.png"\r\nContent-Type: image/png'), BINARY),
        part(field("none", '; filename="a"'), Buffer.concat([BINARY, Buffer.from(NUMBER)])),
        part(field("empty"), ""),
      );
      expect((await received(body, { type })).toString("latin1")).toBe(expected.toString("latin1"));
      expect(destination.last().header("content-length")).toBe(String(expected.length));
      expect(destination.last().header("content-type")).toBe(type);
      const chunked = await received(body, { type, isChunked: true });
      expect(chunked.equals(expected)).toBe(true);
      expect(destination.last().header("transfer-encoding")).toBe("chunked");
      const form = await new Response(expected, { headers: { "Content-Type": type } }).formData();
      expect([...form.keys()]).toEqual(["plain", "json", "untyped", "xml", "form", "file", "none", "empty"]);
    });

    it("keep the length correct that a part states", async () => {
      const body = (content: string, length: number) =>
        whole(part(`${field("a")}\r\nContent-Length: ${length}`, content), part(field("b"), "x"));
      const reference = `{{ ${card} | json: '$.number' }}`;
      expect((await received(body(reference, reference.length), { type })).toString()).toBe(
        body(NUMBER, NUMBER.length).toString(),
      );
    });

    it("are replaced in the headers of parts, whose quotes they cannot end", async () => {
      const body = whole(part(field(`{{ ${text} }}`, `; filename="{{ ${card} | json: '$.number' }}.txt"`), "x"));
      const arrived = (await received(body, { type })).toString();
      expect(arrived).toBe(whole(part(field("a%22b'c\\d%0D%0A<e>&f=é", `; filename="${NUMBER}.txt"`), "x")).toString());
    });

    it("are found in nested parts, in the preamble and in the epilogue", async () => {
      const inner = `--in\r\n\r\n{"a":"{{ ${text} }}"}\r\n--in--`;
      const reference = `{{ ${card} | json: '$.number' }}`;
      const body = (before: string, nested: string) =>
        Buffer.concat([
          Buffer.from(`${before}\r\n`),
          whole(part("Content-Type: multipart/mixed; boundary=in\r\nContent-Length: 1000", nested)),
          Buffer.from(before),
        ]);
      const sent = body(reference, inner);
      const replaced = inner.replace(`"{{ ${text} }}"`, JSON.stringify(SECRET));
      const length = 1000 + Buffer.byteLength(replaced) - inner.length;
      expect((await received(sent, { type })).toString()).toBe(
        body(NUMBER, replaced).toString().replace("1000", String(length)),
      );
    });

    it("must not have values that contain the boundary", async () => {
      const evil = { type: "token", data: 'x\r\n--x y\r\nContent-Disposition: form-data; name="admin"\r\n\r\ntrue' };
      const { id } = (await backEnd("POST", "/tokens", { body: evil })).body;
      expect(await refused(whole(part(field("a"), `{{ ${id} }}`)), { type })).toContain("must have another boundary");
      const half = (await backEnd("POST", "/tokens", { body: { type: "token", data: "\r\n--x" } })).body.id;
      expect(await refused(whole(part(field("a"), `{{ ${half} }} y`)), { type })).toContain(
        "must have another boundary",
      );
    });

    it.each([
      ["base64", (reference: string) => Buffer.from(`a: ${reference}`).toString("base64").replace(/.{20}/g, "$&\r\n")],
      ["Quoted-Printable", (reference: string) => `a: ${reference.replace("{{", "=7B=\r\n=7b")}`],
    ])("are rejected if %s hides them", async (encoding, encode) => {
      const body = (content: string) =>
        whole(part(`${field("a")}\r\nContent-Transfer-Encoding: ${encoding}`, encode(content)));
      const said = await refused(body(`{{ ${card} }}`), { type });
      expect(said).toMatch(/Content-Transfer-Encoding of (?:base64|quoted-printable) \(part 1 "a"\)/);
      expect((await received(body("{{ }}"), { type })).equals(body("{{ }}"))).toBe(true);
    });

    it.each([
      ["no boundary", "multipart/form-data"],
      ["a boundary that is not there", "multipart/form-data; boundary=other"],
      ["an invalid boundary", `multipart/form-data; boundary="{{ x }}"`],
      ["a boundary that begins like it", 'multipart/form-data; boundary="x"'],
    ])("are found despite %s", async (_, wrong) => {
      const body = whole(part(field("a"), `{{ ${card} | json: '$.number' }}`));
      const headers = wrong.includes("{{") ? {} : { type: wrong };
      expect((await received(body, headers)).toString()).toBe(whole(part(field("a"), NUMBER)).toString());
    });

    it("report the part and the position of a fault", async () => {
      const body = whole(part(field("a"), "x"), part(field("bé"), `line\n {{ ${card} | json: '$.x' }}`));
      expect(await refused(body, { type })).toBe(
        `expression found nothing: {{ ${card} | json: '$.x' }} (part 2 "bé", line 2, column 2)`,
      );
      expect(await refused(whole(part(field("{{ | }}"), "x")), { type })).toContain('(part 1 "{{ | }}", headers)');
    });

    it("may be many, but not unlimited", async () => {
      const many = Array.from({ length: 10_000 }, (_, n) => part("", String(n)));
      expect((await received(whole(...many), { type })).length).toBe(whole(...many).length);
      expect(await refused(whole(...many, part("", "x")), { type })).toContain("at most 10000 parts");
    });
  });

  describe("in large bodies", () => {
    const reference = () => Buffer.from(`{{ ${card} | json: '$.number' }}`);
    const filler = (size: number) => Buffer.alloc(size, 0x80);

    it("are replaced anywhere in text and in parts of up to 5 MB", async () => {
      const end = reference();
      const lines = Buffer.alloc(5 * MB - end.length, "a line of text\n");
      const text = await received(Buffer.concat([lines, end]), { type: "application/x-yaml" });
      expect(text.equals(Buffer.concat([lines, Buffer.from(NUMBER)]))).toBe(true);
      const file = Buffer.from('--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n');
      const last = (value: Buffer | string) =>
        Buffer.from(`\r\n--b\r\nContent-Disposition: form-data; name="c"\r\n\r\n${value}\r\n--b--\r\n`);
      const content = filler(5 * MB - file.length - last(end).length);
      const type = "multipart/form-data; boundary=b";
      const parts = await received(Buffer.concat([file, content, last(end)]), { type });
      expect(parts.equals(Buffer.concat([file, content, last(NUMBER)]))).toBe(true);
      const chunked = await received(Buffer.concat([file, content, last(end)]), { type, isChunked: true });
      expect(chunked.equals(Buffer.concat([file, content, last(NUMBER)]))).toBe(true);
    });

    it.each([
      ["of a stated length", false],
      ["in pieces", true],
    ])("are replaced at the beginning of larger ones %s, which stream", async (_, isChunked) => {
      for (const [type, size] of [
        ["image/png", 3 * MB],
        ["multipart/form-data; boundary=b", 7 * MB],
        ["application/x-yaml", 7 * MB],
      ] as const) {
        const rest = type === "application/x-yaml" ? Buffer.alloc(size, "line\n") : filler(size);
        const before = Buffer.from(
          type.startsWith("multipart") ? '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n' : "x: ",
        );
        const between = Buffer.from(
          type.startsWith("multipart")
            ? '\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
            : "\n",
        );
        const body = Buffer.concat([before, reference(), between, rest]);
        const expected = Buffer.concat([before, Buffer.from(NUMBER), between, rest]);
        expect((await received(body, { type, isChunked })).equals(expected), type).toBe(true);
        if (!isChunked) expect(destination.last().header("content-length")).toBe(String(expected.length));
      }
    });

    it.each([
      ["image/png", 100 * KB, filler],
      ["multipart/form-data; boundary=b", 6 * MB, filler],
      ["application/x-yaml", 6 * MB, (size: number) => Buffer.alloc(size, "line\n")],
    ])("are rejected after the beginning of a larger %s", async (type, size, fill) => {
      const tail = fill(size);
      for (const isChunked of [false, true]) {
        const body = Buffer.concat([fill(size), reference(), tail]);
        expect(await refused(body, { type, isChunked })).toContain("within its first 64 KB");
      }
    });

    it("are rejected wherever the chunks of the body are split", async () => {
      const bytes = Buffer.concat([filler(70 * KB), reference(), filler(KB)]);
      const end = 70 * KB + reference().length;
      for (const cut of [64 * KB - 1, 64 * KB, 70 * KB - 1, 70 * KB + 1, 70 * KB + 2, end - 2, end - 1, end]) {
        const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
        expect(await refused(pieces, { type: "image/png" })).toContain("within its first 64 KB");
      }
      const straddling = Buffer.concat([filler(64 * KB - 5), reference(), filler(70 * KB)]);
      expect(await refused(straddling, { type: "image/png" })).toContain("within its first 64 KB");
    });

    it("leave bodies alone whose braces are not references", async () => {
      const braces = Buffer.concat([filler(70 * KB), Buffer.from("{{".repeat(40_000)), Buffer.from("}}{{}}"), BINARY]);
      for (const isChunked of [false, true]) {
        expect((await received(braces, { type: "image/png", isChunked })).equals(braces)).toBe(true);
      }
    });
  });

  it("are rejected in a body with two content types, of which the destination may read either", async () => {
    const json = `{"a":"\\u007b\\u007b ${card} \\u007d\\u007d"}`;
    const headers = { "Content-Type": ["text/csv", "application/json"] };
    expect(await refused(json, { headers })).toContain("must be sent once");
    const same = { "Content-Type": ["text/csv", "text/csv"] };
    expect((await received(`{{ ${text} }}`, { headers: same })).toString()).toBe(SECRET);
  });

  describe("in compressed bodies", () => {
    const codings = [
      ["gzip", gzipSync],
      ["x-gzip", gzipSync],
      ["GZIP", gzipSync],
      ["deflate", deflateSync],
      ["deflate", deflateRawSync],
      ["br", brotliCompressSync],
      ["zstd", zstdCompressSync],
    ] as const;

    it.each(codings)("with %s are rejected, and other bodies are forwarded unchanged", async (coding, pack) => {
      const headers = { "Content-Encoding": coding };
      for (const isChunked of [false, true]) {
        const sent = { type: "application/json", headers, isChunked };
        expect(await refused(pack(`{"a":"{{ ${card} }}"}`), sent)).toContain("without a Content-Encoding");
        const plain = pack(JSON.stringify({ a: "{{ }}", b: "x".repeat(1_000) }));
        expect((await received(plain, sent)).equals(plain)).toBe(true);
      }
      expect(destination.last().header("content-encoding")).toBe(coding);
    });

    it("are rejected behind the first of several Zstandard frames", async () => {
      const headers = { "Content-Encoding": "zstd" };
      const plain = zstdCompressSync("x".repeat(1_000));
      const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
      for (const before of [[plain], [plain, plain], [skippable], [skippable, plain, skippable]]) {
        const hidden = Buffer.concat([...before, zstdCompressSync(`{{ ${card} }}`)]);
        expect(await refused(hidden, { headers })).toContain("without a Content-Encoding");
        const fine = Buffer.concat([...before, plain]);
        expect((await received(fine, { headers })).equals(fine)).toBe(true);
      }
      const many = Buffer.concat(Array.from({ length: 1_000 }, () => zstdCompressSync("x")));
      expect(await refused(many, { headers })).toContain("compressed as its Content-Encoding says");
    });

    it.each([
      ["deflate", deflateSync],
      ["br", brotliCompressSync],
      ["gzip", gzipSync],
    ])("are rejected behind the end of the data packed with %s, where only padding may be", async (coding, pack) => {
      const headers = { "Content-Encoding": coding };
      const packed = pack("x".repeat(1_000));
      const hidden = Buffer.concat([packed, Buffer.from(`{{ ${card} }}`)]);
      for (const pieces of [hidden, [packed, Buffer.from(`{{ ${card} }}`)]]) {
        expect(await refused(pieces, { headers })).toContain("compressed as its Content-Encoding says");
      }
      const padded = Buffer.concat([packed, Buffer.alloc(20)]);
      expect((await received(padded, { headers })).equals(padded)).toBe(true);
    });

    it("are rejected in a body whose encoding is named in a second header", async () => {
      const headers = { "Content-Encoding": ["identity", "gzip"] };
      expect(await refused(gzipSync(`{{ ${card} }}`), { headers })).toContain("without a Content-Encoding");
      const two = { "Content-Encoding": ["br", "gzip"] };
      expect(await refused(gzipSync(brotliCompressSync("x")), { headers: two })).toContain("one coding at most");
    });

    it("are rejected after the part that is read first, in a body that streams", async () => {
      const noise = Buffer.from(Array.from({ length: 300 * KB }, (_, n) => (n * 7919 + (n >> 7) * 31) % 251));
      const packed = gzipSync(Buffer.concat([noise, Buffer.from(`{{ ${card} }}`), noise]), { level: 0 });
      const headers = { "Content-Encoding": "gzip" };
      expect(await refused(packed, { headers })).toContain("without a Content-Encoding");
      const fine = gzipSync(Buffer.concat([noise, noise]), { level: 0 });
      expect((await received(fine, { headers, isChunked: true })).equals(fine)).toBe(true);
    });

    it("with an unknown encoding are rejected if they are visible", async () => {
      for (const coding of ["x-own", "aes128gcm", "gzip, x-own", "utf-8"]) {
        const headers = { "Content-Encoding": coding };
        expect(await refused(`{{ ${card} }}`, { headers, type: "text/plain" })).toContain("without a Content-Encoding");
        expect((await received("no {{ }}", { headers })).toString()).toBe("no {{ }}");
        const large = Buffer.concat([Buffer.alloc(100 * KB, 0x80), Buffer.from(`{{ ${card} }}`)]);
        expect(await refused(large, { headers })).toContain("without a Content-Encoding");
      }
      const identity = { headers: { "Content-Encoding": "identity" }, type: "text/plain" };
      expect((await received(`{{ ${card} | json: '$.number' }}`, identity)).toString()).toBe(NUMBER);
    });

    it("with a repeated, wrong or excessive encoding are rejected", async () => {
      const headers = { "Content-Encoding": "gzip, br" };
      expect(await refused(brotliCompressSync(gzipSync("x")), { headers })).toContain("one coding at most");
      const gzip = { headers: { "Content-Encoding": "gzip" } };
      expect(await refused("not packed at all", gzip)).toContain("compressed as its Content-Encoding says");
      expect(await refused(gzipSync("x".repeat(1_000)).subarray(0, 20), gzip)).toContain("compressed as");
      const bomb = gzipSync(Buffer.alloc(50 * MB));
      const { status, said } = await send(bomb, gzip);
      expect([status, JSON.parse(said).proxy_error.code]).toEqual([413, "body_too_large"]);
    });
  });
});
