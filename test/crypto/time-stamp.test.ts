import { X509Certificate } from "node:crypto";
import { OctetString } from "@peculiar/asn1-schema";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AnchorTree, anchorRoot } from "../../src/crypto/anchor-tree.js";
import { asn1Members, derBytes, readAsn1 } from "../../src/crypto/asn1.js";
import { readCertificates } from "../../src/crypto/certificates.js";
import { timeStampQuery, tokenOfReply, verifyTimeStamp } from "../../src/crypto/time-stamp.js";
import { TimeStampInvalid } from "../../src/crypto/time-stamp-invalid.js";
import { createStampAuthority, type StampAuthority } from "../audit/support/stamp-authority.js";

const imprint = Buffer.alloc(32, 7);
const ends: (() => Promise<unknown>)[] = [];
let authority: StampAuthority;
const opened = async (options?: Parameters<typeof createStampAuthority>[0]) => {
  const made = await createStampAuthority(options);
  ends.push(async () => made[Symbol.asyncDispose]());
  return made;
};
beforeAll(async () => {
  // As most authorities have; the others of this file have the other kind of key.
  authority = await opened({ key: "rsa" });
});
afterAll(async () => {
  for (const end of ends) await end();
});

async function stampOf(by: StampAuthority, policy?: string) {
  const query = timeStampQuery(imprint, policy);
  return tokenOfReply(await by.reply(query.bytes), query, readCertificates(by.ca));
}

/** The statement that the signature of a token covers. */
function contentOfToken(token: Buffer): Buffer {
  const [data] = asn1Members(asn1Members(token)[1]);
  const [, wrapped] = asn1Members(asn1Members(data)[2]);
  const [statement] = asn1Members(wrapped);
  return Buffer.from(readAsn1(derBytes(statement), OctetString).buffer);
}

describe("a time stamp of OpenSSL", () => {
  it("is accepted with its time and policy", async () => {
    // Stamps name whole seconds.
    const askedAt = Math.floor(Date.now() / 1_000) * 1_000;
    const stamp = await stampOf(authority, "1.2.3.4.1");
    expect(stamp.time.getTime()).toBeGreaterThanOrEqual(askedAt);
    expect(stamp.time.getTime()).toBeLessThanOrEqual(Date.now());
    expect(stamp.policy).toBe("1.2.3.4.1");
    expect(verifyTimeStamp(stamp.token, imprint, readCertificates(authority.ca))).toMatchObject({ time: stamp.time });
  });

  it.each(["rsa", "ec"] as const)("is accepted from a key of type %s", async (key) => {
    expect((await stampOf(await opened({ key }))).token.length).toBeGreaterThan(500);
  });

  it("is accepted below an authority in between", async () => {
    expect((await stampOf(await opened({ hasIntermediate: true }))).token.length).toBeGreaterThan(1_000);
  });

  it("is not one of another imprint, nonce, policy or authority", async () => {
    const query = timeStampQuery(imprint, undefined);
    const [reply, trusted] = [await authority.reply(query.bytes), readCertificates(authority.ca)];
    const other = timeStampQuery(Buffer.alloc(32, 8), undefined);
    expect(() => tokenOfReply(reply, other, trusted)).toThrow("imprint is that of something else");
    const again = timeStampQuery(imprint, undefined);
    expect(() => tokenOfReply(reply, again, trusted)).toThrow("the nonce is that of another request");
    expect(() => tokenOfReply(reply, { ...query, policy: "1.2.3.4.2" }, trusted)).toThrow("the policy is not");
    const foreign = readCertificates((await opened()).ca);
    expect(() => tokenOfReply(reply, query, foreign)).toThrow("does not lead to a trusted authority");
    expect(() => verifyTimeStamp(Buffer.from("no token"), imprint, trusted)).toThrow(TimeStampInvalid);
  });

  it.each([
    [{}, undefined],
    [{ usage: "timeStamping" }, "not one for time stamps alone"],
    [{ usage: "critical,timeStamping,serverAuth" }, "not one for time stamps alone"],
    [{ usage: "critical,serverAuth" }, "not one for time stamps alone"],
    [{ daysValid: -1 }, "was valid at that time"],
  ] as const)("signed with a certificate of %j is valid: %s", async (options, reason) => {
    const made = await opened(options);
    const token = await made.sign(contentOfToken((await stampOf(authority)).token));
    const verify = () => verifyTimeStamp(token, imprint, readCertificates(made.ca)).policy;
    if (reason === undefined) expect(verify()).toBe("1.2.3.4.1");
    else expect(verify).toThrow(reason);
  });

  it("must name its certificate by ESSCertIDv2", async () => {
    await expect(stampOf(await opened({ essDigest: "sha1" }))).rejects.toThrow("ESSCertIDv2");
  });

  it("shows a changed byte that it covers", async () => {
    const { token } = await stampOf(authority);
    const trusted = readCertificates(authority.ca);
    const isValid = () => {
      try {
        verifyTimeStamp(token, imprint, trusted);
        return true;
      } catch (error) {
        if (error instanceof TimeStampInvalid) return false;
        throw error;
      }
    };
    let missed = 0;
    // The root is trusted from elsewhere: the copy in the token is not used.
    const unused = token.indexOf(trusted[0]?.raw ?? "");
    expect(unused).toBeGreaterThan(0);
    for (let at = 0; at < token.length; at += 11) {
      if (at >= unused && at < unused + (trusted[0]?.raw.length ?? 0)) continue;
      const byte = token[at] ?? 0;
      token[at] = byte ^ (1 << (at % 8));
      if (isValid()) missed += 1;
      token[at] = byte;
    }
    expect(isValid()).toBe(true);
    // Versions and lists of algorithms outside of the signature.
    expect(missed).toBeLessThan(10);
  });

  it("is refused, in fixed words, whatever its bytes are", async () => {
    const { token } = await stampOf(authority);
    const trusted = readCertificates(authority.ca);
    const refused = (bytes: Buffer) => expect(() => verifyTimeStamp(bytes, imprint, trusted)).toThrow(TimeStampInvalid);
    refused(Buffer.concat([token, Buffer.from([5, 0])]));
    // Deeper than the stack, and more values than any token has.
    refused(Buffer.alloc(200_000, Buffer.from([0x30, 0x80])));
    refused(Buffer.concat([Buffer.from([0x30, 0x83, 3, 0, 0]), Buffer.alloc(3 * 65_536, Buffer.from([5, 0]))]));
    // Zeros in a length make an empty value, whose members then follow it and end where the whole does.
    for (let at = 0; at < 60; at += 1) {
      for (const added of [1, 2]) {
        refused(Buffer.concat([token.subarray(0, at), Buffer.alloc(added), token.subarray(at)]));
      }
    }
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.nat(40), fc.uint8Array({ maxLength: 40 }), (at, removed, added) => {
        const changed = Buffer.concat([token.subarray(0, at), added, token.subarray(at + removed)]);
        fc.pre(changed.length !== token.length);
        refused(changed);
      }),
      { numRuns: 300 },
    );
  });

  it("needs certificates that can be read", () => {
    expect(() => readCertificates("")).toThrow("no certificate");
    expect(readCertificates(authority.ca + authority.ca)).toEqual([
      expect.any(X509Certificate),
      expect.any(X509Certificate),
    ]);
  });
});

describe("a tree over the last seals of tenants", () => {
  const bodies = Array.from({ length: 65 }, (_, index) => index.toString(16).padStart(64, "0"));

  it("proves each of them, and none that it does not have", () => {
    for (let size = 1; size <= bodies.length; size += 1) {
      const tree = new AnchorTree(bodies.slice(0, size));
      for (const [index, body] of bodies.slice(0, size).entries()) {
        const proof = tree.proofOf(index);
        expect(anchorRoot(body, proof)).toEqual(tree.root);
        expect(anchorRoot("f".repeat(64), proof)).not.toEqual(tree.root);
        if (size > 1) expect(anchorRoot(body, proof.slice(1))).not.toEqual(tree.root);
      }
    }
    expect(anchorRoot(bodies[0] ?? "", ["X00"])).toBeUndefined();
  });
});
