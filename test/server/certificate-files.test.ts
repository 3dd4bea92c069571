import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CertificateFiles } from "../../src/server/certificate-files.js";
import { ConfigError } from "../../src/settings/config-error.js";
import { createAuthority, type Identity } from "../egress/certificates.js";
import { newDirectory } from "../support/new-directory.js";

const directory = newDirectory();
const files = { tlsCertFile: join(directory, "server.pem"), tlsKeyFile: join(directory, "server.key") };
let identities: readonly Identity[];
beforeAll(async () => {
  const authority = await createAuthority();
  identities = await Promise.all([1, 2, 3].map(() => authority.issue(["localhost"])));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What a file holds: the part of an identity, the first half of it, nothing, other text, or no file. */
type Content = { readonly of: number; readonly half: boolean } | "empty" | "other text" | "no file";

const WHOLE: Content = { of: 0, half: false };

const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ of: fc.nat(2), half: fc.boolean() }) },
  fc.constantFrom("empty", "other text", "no file"),
);

function write(path: string, part: "cert" | "key", given: Content): void {
  if (given === "no file") rmSync(path, { force: true });
  else if (typeof given === "string") writeFileSync(path, given === "empty" ? "" : "no certificate");
  else {
    const whole = identities[given.of]?.[part] ?? "";
    writeFileSync(path, given.half ? whole.slice(0, whole.length / 2) : whole);
  }
}

function writeBoth(cert: Content, key: Content): void {
  write(files.tlsCertFile, "cert", cert);
  write(files.tlsKeyFile, "key", key);
}

/** The number of the identity whose certificate and key both are. */
function wholePair(cert: Content, key: Content): number | undefined {
  if (typeof cert === "string" || typeof key === "string" || cert.half || key.half) return undefined;
  return cert.of === key.of ? cert.of : undefined;
}

function logging() {
  const lines: string[] = [];
  const write = (level: string) => (fields: object, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  };
  return { lines, log: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") } };
}

describe("the certificate of the API port", () => {
  it("is the last whole pair that the files held, whatever is written to them in between", async () => {
    const change = fc.record({ cert: fc.option(content), key: fc.option(content) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (changes) => {
        let cert: Content = WHOLE;
        let key: Content = WHOLE;
        writeBoth(cert, key);
        const { log, lines } = logging();
        using certificate = await CertificateFiles.open(files, log);
        const taken: string[] = [];
        certificate?.onRenewal((identity) => {
          taken.push(identity.cert.toString());
        });
        let last = 0;
        const expected: string[] = [];
        for (const next of changes) {
          cert = next.cert ?? cert;
          key = next.key ?? key;
          writeBoth(cert, key);
          await certificate?.renew();
          const pair = wholePair(cert, key);
          if (pair !== undefined && pair !== last) {
            last = pair;
            expected.push(identities[last]?.cert ?? "");
          }
          expect(lines.splice(0).some((line) => line.startsWith("warn"))).toBe(pair === undefined);
          expect(String(certificate?.current.cert)).toBe(identities[last]?.cert);
          expect(String(certificate?.current.key)).toBe(identities[last]?.key);
        }
        expect(taken).toEqual(expected);
      }),
    );
  });

  it("is kept where a file cannot be read: the log names setting and file, and no server starts with it", async () => {
    writeBoth(WHOLE, WHOLE);
    const { log, lines } = logging();
    using certificate = await CertificateFiles.open(files, log);
    rmSync(files.tlsKeyFile);
    await certificate?.renew();
    expect(lines).toEqual([
      expect.stringContaining(`CLOAKROOM_TLS_KEY_FILE names a file that cannot be read: ${files.tlsKeyFile}`),
    ]);
    await expect(CertificateFiles.open(files, log)).rejects.toThrow(ConfigError);
  });
});
