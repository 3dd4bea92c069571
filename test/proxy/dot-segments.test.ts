import { posix } from "node:path";
import { array, assert, constantFrom, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { hasDotSegment } from "../../src/proxy/dot-segments.js";
import { destinationTarget } from "../../src/proxy/request-target.js";

const BASE = "https://destination.example/base";

const outcome = (path: string): string => {
  try {
    return destinationTarget(BASE, path, "");
  } catch (error) {
    return JSON.stringify(Object(error).fields);
  }
};
const REFUSED = JSON.stringify({ path: ["must not hold . or .. as a segment"] });

/** RFC 3986, 5.4: references against `http://a/b/c/d;p?q`, here after the base path of a destination. */
const NORMAL_EXAMPLES = ["/g:h", "/g", "/g/", "//g", "/;x", "/g;x", "/g;x=1/y"];
const DOT_EXAMPLES = [
  ...["/./g", "/.", "/./", "/..", "/../", "/../g", "/../..", "/../../", "/../../g"],
  // 5.4.2, abnormal examples
  ...["/../../../g", "/../../../../g", "/./../g", "/./g/.", "/g/./h", "/g/../h", "/g;x=1/./y", "/g;x=1/../y"],
];
/** Names that only look like dot segments (5.4.2). */
const ORDINARY_NAMES = ["/g.", "/.g", "/g..", "/..g", "/...", "/....", "/.well-known/x", "/a.b/c..d", "/v1.2/x"];

/** Spellings that some server takes for a dot segment. */
const SPELLINGS = [
  // Percent-encoding (RFC 3986, 6.2.2.2), once and repeatedly
  ...["%2e%2e", "%2E%2E", ".%2e", "%2e.", "%2e", "%252e%252e", "%25%32%65%25%32%65", "%25252e.", "%%32%65%%32%65"],
  ...["%u002e%u002e", ".%u002e", "%uff0e%uff0e"],
  // Path parameters, which servlet containers remove before they resolve
  ...["..;", "..;a=b", "..;a=b;c", "%2e%2e;", "..%3b", "..%253b", ".;", ".;x", ";/..", "..;.."],
  // Backslashes and encoded slashes
  ...["..\\", "\\..", "a\\..\\b", "..%5c", "..%255c", "..%2f", "..%252f", "a%2f..%2fb", "%2f..", "..%5c..%5c"],
  // Overlong UTF-8
  ...["%c0%ae%c0%ae", ".%c0%ae", "%c0%2e%c0%2e", "%e0%80%ae%e0%80%ae", "%f0%80%80%ae.", "%f8%80%80%80%ae."],
  ...["%fc%80%80%80%80%ae.", "..%c0%af", "..%c1%9c", "..%c1%1c", "..%e0%80%af", "%c0%ae%c0%ae%c0%af", "\xc0\xae."],
  // Compatibility characters (Unicode normal form KC) and best-fit mappings
  ...["%ef%bc%8e%ef%bc%8e", "%e2%80%a4%e2%80%a4", "%e2%80%a5", "%ef%b9%92.", "..%ef%bc%8f", "..%ef%bc%bc"],
  ...["..%e2%88%95", "..%e2%81%84", "..%ef%bc%9b", "..%u2215", "..%u2216"],
  // White space, control characters, invisible characters, invalid bytes
  ...["..%20", "%20..", "..%09", "..%0a", "..%0d%0a", ".%09.", "..%00", ".%00.", "..%00a", "..%c2%a0", "..%7f"],
  ...[".%e2%80%8b.", "..%e2%80%8d", ".%c2%ad.", ".%ff.", "..%1f", "..%e3%80%80", "..%2500"],
  // What ends the path for a server that decodes before it splits
  ...["..%3f", "..%3fa", "..%23", "..%23a", "..%253f", "..%0ax"],
];

describe("a path below a destination", () => {
  it.each([...NORMAL_EXAMPLES, ...ORDINARY_NAMES])("is forwarded byte for byte: %s", (path) => {
    expect(outcome(path)).toBe(`/base${path}`);
  });

  it.each(DOT_EXAMPLES)("is rejected with a dot segment of RFC 3986: %s", (path) => {
    expect(outcome(path)).toBe(REFUSED);
  });

  it.each(SPELLINGS)("is rejected with a dot segment in another spelling: %s", (spelled) => {
    for (const path of [`/${spelled}`, `/${spelled}/admin`, `/a/${spelled}/b`])
      expect([path, outcome(path)]).toEqual([path, REFUSED]);
  });

  it.each([
    ...["", "/", "//", "/a//b///", "/;", "/;a=b", "/a;b=c,d:e@f!$&'()*+", "/a%2fb", "/a%5cb", "/a%252fb"],
    ...["/%41%7e%2C", "/caf%e9/%ff%fe/%zz/%", "/100%25", "/100%2525", "/%2e%2ea", "/a%2e%2e", "/%252ea", "/a%3b.."],
    ...["/%e2%80%a6", "/.%2e.", "/%20", "/%20a", "/a%20..b", "/%00", "/%e6%97%a5%e6%9c%ac", "/\xe6\x97\xa5", "/-..-"],
    ...["/%u0041", "/;../x", "/a;..", "/%3b..", "/%c3%80", "/%c1", "/%f0%9f%98%80", "/..a;b", "/.a/..b/c.."],
  ])("is forwarded byte for byte if no server reads a dot segment in it: %s", (path) => {
    expect(outcome(path)).toBe(`/base${path}`);
  });

  it("is rejected if it is encoded more often than any server decodes", () => {
    const encoded = (times: number) => `/%${"25".repeat(times)}41`;
    expect(outcome(encoded(3))).toBe(`/base${encoded(3)}`);
    expect(outcome(encoded(5))).toBe(REFUSED);
  });

  it("needs a bounded number of passes, however long it is and however often encoded", () => {
    const hostile = [
      `/%${"25".repeat(16_000)}2e`,
      `/${"%c0".repeat(10_000)}`,
      `/${"%ef%b7%ba".repeat(3_500)}`,
      `/${".;".repeat(16_000)}`,
    ];
    for (const path of hostile) {
      const before = process.cpuUsage();
      hasDotSegment(path);
      const { user, system } = process.cpuUsage(before);
      // A path of 32 KB, the longest that is accepted, in processor time.
      expect(user + system).toBeLessThan(500_000);
    }
  });
});

const bytesOf = (path: string) =>
  path.replace(/%([0-9a-f]{2})/gi, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16)));
const withoutParameters = (path: string) => path.replace(/;[^/]*/g, "");
const asText = (bytes: string) => Buffer.from(bytes, "latin1").toString("utf8");

/** How kinds of servers find the file of a path. */
const SERVERS: Readonly<Record<string, (path: string) => string>> = {
  "a URL parser of browsers": (path) => new URL(`http://a${path}`).pathname,
  "one that decodes, then resolves": (path) => posix.normalize(bytesOf(path)),
  "one behind a decoding proxy": (path) => posix.normalize(bytesOf(bytesOf(path))),
  "one behind two decoding proxies": (path) => posix.normalize(bytesOf(bytesOf(bytesOf(path)))),
  "a servlet container": (path) => posix.normalize(bytesOf(withoutParameters(path)).replaceAll("\\", "/")),
  "one that strips parameters last": (path) => posix.normalize(withoutParameters(bytesOf(path)).replaceAll("\\", "/")),
  "one that trims names": (path) =>
    posix.normalize(
      bytesOf(path)
        .split(/[/\\]/)
        .map((name) => name.trim())
        .join("/"),
    ),
  "one that normalizes to NFKC": (path) => posix.normalize(asText(bytesOf(path)).normalize("NFKC")),
  "one that drops broken bytes": (path) => posix.normalize(asText(bytesOf(path)).replaceAll("\ufffd", "")),
  "one that ends at a NUL": (path) => posix.normalize(bytesOf(path).split("\0", 1)[0] ?? ""),
  "one that cuts the query late": (path) => posix.normalize(bytesOf(path).split(/[?#]/, 1)[0] ?? ""),
};

const ALPHABET = [
  ...[
    "/",
    "\\",
    ".",
    "..",
    ";",
    "a",
    ";a=b",
    "%2e",
    "%2E",
    "%2f",
    "%5c",
    "%3b",
    "%25",
    "2e",
    "2f",
    "%00",
    "%09",
    "%20",
  ],
  ...["%c0%ae", "%c0%af", "%ef%bc%8e", "%ef%bc%8f", "%ff", "%3f", "%23", "%252e", "%252f", "\xc0", "\xae"],
];

describe("an accepted path", () => {
  it.each(Object.entries(SERVERS))("stays below the base for %s", (_, find) => {
    assert(
      property(array(constantFrom(...ALPHABET), { minLength: 1, maxLength: 9 }), (pieces) => {
        const path = `/${pieces.join("")}`;
        if (outcome(path) === REFUSED) return;
        const found = find(`/base${path}`);
        expect(found.startsWith("/base/") || found === "/base", `${path} leads to ${found}`).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});
