import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AnchorTree, anchorRoot } from "../../src/crypto/anchor-tree.js";
import { childrenOf, contentOf, readDer, TAG } from "../../src/crypto/der.js";
import {
  readCertificates,
  TimeStampInvalid,
  timeStampQuery,
  tokenOfReply,
  verifyTimeStamp,
} from "../../src/crypto/time-stamp.js";
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
  authority = await opened();
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
  const [, wrapped] = childrenOf(readDer(token), TAG.sequence);
  const [data] = childrenOf(wrapped, TAG.context0);
  const [, eContent] = childrenOf(childrenOf(data, TAG.sequence)[2], TAG.sequence);
  return contentOf(childrenOf(eContent, TAG.context0)[0], TAG.octets);
}

describe("a time stamp of OpenSSL", () => {
  it("is accepted with its time and policy", async () => {
    const stamp = await stampOf(authority, "1.2.3.4.1");
    expect(Math.abs(stamp.time.getTime() - Date.now())).toBeLessThan(60_000);
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

  it("shows each changed byte that it covers", async () => {
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
    for (let at = 0; at < token.length; at += 1) {
      if (at >= unused && at < unused + (trusted[0]?.raw.length ?? 0)) continue;
      const byte = token[at] ?? 0;
      token[at] = byte ^ (1 << (at % 8));
      if (isValid()) missed += 1;
      token[at] = byte;
    }
    expect(isValid()).toBe(true);
    // Versions and lists of algorithms outside of the signature.
    expect(missed).toBeLessThan(40);
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
