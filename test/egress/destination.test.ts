import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../src/base/fault.js";
import { classifyAddress } from "../../src/egress/address-class.js";
import { type Destination, readDestination, validDestination } from "../../src/egress/destination.js";
import { EgressError } from "../../src/egress/egress-error.js";
import { EgressPolicy } from "../../src/egress/egress-policy.js";

const closed = new EgressPolicy();
const permissive = new EgressPolicy({ allow: "0.0.0.0/0,::/0" });

/** The destination, or the reason for its rejection. */
function read(url: string, policy = closed): Destination | string {
  try {
    return readDestination(url, policy);
  } catch (error) {
    if (error instanceof EgressError) return error.reason;
    throw error;
  }
}

describe("a URL that may be called", () => {
  it.each([
    ["https://api.example.com", "api.example.com", 443, "api.example.com", "/"],
    ["HTTPS://API.Example.com/v1?a=b%20c", "api.example.com", 443, "api.example.com", "/v1?a=b%20c"],
    ["https://api.example.com:8443/x", "api.example.com", 8443, "api.example.com:8443", "/x"],
    ["https://api.example.com:443/", "api.example.com", 443, "api.example.com", "/"],
    ["https://api.example.com./x", "api.example.com", 443, "api.example.com", "/x"],
    ["https://bücher.example/", "xn--bcher-kva.example", 443, "xn--bcher-kva.example", "/"],
    ["https://ex_ample.example/", "ex_ample.example", 443, "ex_ample.example", "/"],
    ["https://api.example.com/a@b%23c", "api.example.com", 443, "api.example.com", "/a@b%23c"],
    ["https://8.8.8.8/x", "8.8.8.8", 443, "8.8.8.8", "/x"],
    ["https://134744072/", "8.8.8.8", 443, "8.8.8.8", "/"],
    ["https://[2606:4700::1]:8443/", "2606:4700::1", 8443, "[2606:4700::1]:8443", "/"],
  ])("%s", (url, host, port, authority, path) => {
    expect(read(url)).toMatchObject({ protocol: "https:", host, port, authority, path });
  });

  it("shows whether its host is an address", () => {
    expect(read("https://8.8.8.8/")).toMatchObject({ isAddress: true });
    expect(read("https://example.com/")).toMatchObject({ isAddress: false });
  });

  it("shows whether it may be stored: by a name, or by an address that the operator allowed", () => {
    const opened = new EgressPolicy({ allow: "10.0.0.7" });
    expect(read("https://example.com/")).toMatchObject({ isNamed: true });
    expect(read("https://8.8.8.8/")).toMatchObject({ isNamed: false });
    expect(read("http://10.0.0.7/", opened)).toMatchObject({ isAddress: true, isNamed: true });
    expect(read("https://8.8.8.8/", opened)).toMatchObject({ isNamed: false });
  });
});

describe("a URL that may not be called", () => {
  it.each([
    ["", "not_a_url"],
    ["api.example.com", "not_a_url"],
    ["//api.example.com/", "not_a_url"],
    ["/path", "not_a_url"],
    ["https:", "not_a_url"],
    ["https://", "not_a_url"],
    ["https:///path", "not_a_url"],
    ["https:api.example.com", "not_a_url"],
    ["https:/api.example.com", "not_a_url"],
    ["https:\\\\api.example.com", "not_a_url"],
    ["https://api.example.com\\@evil.example/", "not_a_url"],
    [" https://api.example.com", "not_a_url"],
    ["https://api.example.com\n", "not_a_url"],
    ["ht\ttps://api.example.com", "not_a_url"],
    ["https://api.example.com/a b", "not_a_url"],
    ["https://api.\u00a0example.com/", "not_a_url"],
    ["ftp://api.example.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["gopher://127.0.0.1:6379/_INFO", "scheme"],
    ["data:text/plain,x", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["http://api.example.com/", "plain_http"],
    ["https://user:secret@api.example.com/", "user_info"],
    ["https://user@api.example.com/", "user_info"],
    ["https://@api.example.com/", "user_info"],
    ["https://api.example.com:443@evil.example/", "user_info"],
    ["https://api.example.com/#", "fragment"],
    ["https://api.example.com/#part", "fragment"],
    ["https://api.example.com#@evil.example/", "fragment"],
    ["https://api.example.com:22/", "port"],
    ["https://api.example.com:0/", "port"],
    ["https://api.example.com:6379/", "port"],
    ["https://api.example.com:99999/", "host"],
    ["https://api.example.com:x/", "host"],
    ["https://exa%6dple.com/", "host"],
    ["https://example.com%00.evil.example/", "host"],
    ["https://a*b.example/", "host"],
    ["https://a!b.example/", "host"],
    ["https://a..example/", "host"],
    ["https://.example/", "host"],
    ["https://-a.example/", "host"],
    ["https://a-.example/", "host"],
    ["https://1.2.3.4.5/", "host"],
    ["https://127.0.0.1../", "host"],
    ["https://example.123/", "host"],
    [`https://${"a".repeat(64)}.example/`, "host"],
    [`https://${"a.".repeat(130)}example/`, "host"],
    ["https://[::1%25eth0]/", "host"],
    ["https://[::1/", "host"],
    ["https://localhost/", "loopback"],
    ["https://LOCALHOST./", "loopback"],
    ["https://api.localhost/", "loopback"],
  ])("%s: %s", (url, reason) => {
    expect(read(url)).toBe(reason);
  });

  it.each([
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0X7F.1",
    "0177.0.0.1",
    "017700000001",
    "0177.0x0.1",
    "127.0.0.1.",
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
  ])("%s is 127.0.0.1 in another spelling", (host) => {
    expect(read(`https://${host}/`)).toBe("loopback");
    expect(read(`https://${host}:8443/`)).toBe("loopback");
  });

  it.each([
    ["169.254.169.254", "metadata"],
    ["2852039166", "metadata"],
    ["0xa9fea9fe", "metadata"],
    ["0251.0376.0251.0376", "metadata"],
    ["169.254.43518", "metadata"],
    ["[::ffff:169.254.169.254]", "transition"],
    ["[::ffff:a9fe:a9fe]", "transition"],
    ["[0:0:0:0:0:FFFF:169.254.169.254]", "transition"],
    ["[::169.254.169.254]", "transition"],
    ["[64:ff9b::a9fe:a9fe]", "transition"],
    ["[2002:a9fe:a9fe::]", "transition"],
    ["[fd00:ec2::254]", "metadata"],
    ["[::1]", "loopback"],
    ["[0000:0000:0000:0000:0000:0000:0000:0001]", "loopback"],
    ["[::]", "unspecified"],
    ["0", "unspecified"],
    ["0.0.0.0", "unspecified"],
    ["10.0.0.1", "private"],
    ["0300.0250.1", "private"],
    ["[fe80::1]", "link_local"],
    ["[fc00::1]", "unique_local"],
    ["%31%32%37.0.0.1", "host"],
    ["127.0.0.1%20", "host"],
    ["127.0.0.1%00", "host"],
  ])("%s: %s", (host, reason) => {
    expect(read(`https://${host}/`)).toBe(reason);
  });

  it("is judged alike in every spelling of its address", () => {
    const spellings = (a: number, b: number, c: number, d: number): readonly string[] => {
      const whole = ((a * 256 + b) * 256 + c) * 256 + d;
      const hex = (part: number) => `0x${part.toString(16)}`;
      const octal = (part: number) => `0${part.toString(8)}`;
      const parts = [a, b, c, d];
      return [
        parts.join("."),
        String(whole),
        hex(whole),
        octal(whole),
        parts.map(hex).join("."),
        parts.map(hex).join(".").toUpperCase(),
        parts.map(octal).join("."),
        `${a}.${(b * 256 + c) * 256 + d}`,
        `${a}.${hex(b)}.${c * 256 + d}`,
        `${a}.${b}.${c * 256 + d}`,
        `${parts.join(".")}.`,
        `${a}。${b}。${c}。${d}`,
        parts.join(".").replaceAll(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
      ];
    };
    const byte = fc.integer({ min: 0, max: 255 });
    const address = fc.oneof(
      fc.tuple(fc.constantFrom(0, 8, 10, 100, 127, 169, 172, 192, 224, 255), byte, byte, byte),
      fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
      fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
      fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
    );
    fc.assert(
      fc.property(address, ([a, b, c, d]) => {
        const { allowed, reason } = classifyAddress(`${a}.${b}.${c}.${d}`);
        for (const host of spellings(a, b, c, d)) {
          const found = read(`https://${host}/`);
          if (allowed) expect(found).toMatchObject({ host: `${a}.${b}.${c}.${d}`, isAddress: true });
          else expect(found).toBe(reason);
        }
      }),
      { numRuns: 600 },
    );
  });
});

describe("a URL the operator allows", () => {
  it("may use http and a private address", () => {
    expect(read("http://10.0.0.1:8080/x", permissive)).toMatchObject({
      protocol: "http:",
      host: "10.0.0.1",
      port: 8080,
    });
    expect(read("http://127.1/", permissive)).toMatchObject({ host: "127.0.0.1", port: 80, href: "http://127.0.0.1/" });
    expect(read("http://billing.corp/", permissive)).toMatchObject({ host: "billing.corp" });
  });

  it("follows the other rules", () => {
    expect(read("http://user@10.0.0.1/", permissive)).toBe("user_info");
    expect(read("http://10.0.0.1:6379/", permissive)).toBe("private");
    expect(read("http://169.254.169.254/", permissive)).toBe("metadata");
    expect(read("ftp://10.0.0.1/", permissive)).toBe("scheme");
  });
});

describe("a field that holds a URL", () => {
  it("is rejected with a fault that names the field and what is expected", () => {
    const fault = (url: string): unknown => {
      try {
        return validDestination("destination_url", url, closed);
      } catch (error) {
        return error instanceof Fault ? { code: error.code, fields: error.fields } : error;
      }
    };
    expect(fault("https://10.1.2.3/")).toEqual({
      code: "validation_failed",
      fields: { destination_url: ["must not be a private address"] },
    });
    expect(fault("http://api.example.com/")).toMatchObject({ fields: { destination_url: ["must use https"] } });
    expect(fault("https://u:p@api.example.com/")).toMatchObject({
      fields: { destination_url: ["must not hold a user name or password"] },
    });
  });

  it("is parsed like any other", () => {
    expect(validDestination("destination_url", "https://api.example.com/v1", closed).href).toBe(
      "https://api.example.com/v1",
    );
  });

  it("never throws anything but a validation fault, and what passes is https to a public address", () => {
    const hosts = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV4Extended(),
      fc.ipV6().map((ip) => `[${ip}]`),
      fc.string(),
    );
    const schemes = fc.constantFrom("https://", "http://", "https:", "HTTPS://", "ftp://", "");
    fc.assert(
      fc.property(schemes, hosts, fc.string(), (scheme, host, rest) => {
        try {
          const destination = validDestination("url", `${scheme}${host}${rest}`, closed);
          expect(destination.protocol).toBe("https:");
          if (destination.isAddress) expect(classifyAddress(destination.host).allowed).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: "validation_failed" });
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
