import { rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { addToKeyFile, createKeyFile, readKeyFile } from "../../src/crypto/key-file.js";
import { KmsRootKey } from "../../src/crypto/kms-key.js";
import { createCheckValue, matchesCheckValue, type RootKey } from "../../src/crypto/root-key.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import type { TransitSettings } from "../../src/crypto/transit-client.js";
import { TransitRootKey } from "../../src/crypto/transit-key.js";
import { KMS_KEYS, type KmsServer, startKms } from "../support/kms-server.js";
import { newDirectory } from "../support/new-directory.js";
import { startTransit, type TransitServer } from "../support/transit-server.js";

const directory = newDirectory();
let transit: TransitServer;
let kms: KmsServer;
beforeAll(async () => {
  transit = await startTransit();
  kms = await startKms();
  for (const [name, value] of Object.entries(kms.environment)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await transit?.[Symbol.asyncDispose]();
  await kms?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(() => {
  transit.mood = "serving";
  kms.failing = undefined;
});

const transitSettings = (keyName = "cloakroom"): TransitSettings => ({
  ...{ origin: transit.origin, ca: transit.ca, mount: "transit", keyName, namespace: undefined, timeout: 500 },
  credentials: { kind: "token", token: new Sensitive("good-token") },
});

const holders: [string, () => Promise<readonly [RootKey, RootKey]>][] = [
  [
    "a key file",
    async () => {
      const make = async (name: string) => {
        await createKeyFile(join(directory, name));
        return (await readKeyFile(join(directory, name)))[0];
      };
      return [await make("one.key"), await make("two.key")];
    },
  ],
  [
    "Transit with a token",
    async () => [new TransitRootKey(transitSettings()), new TransitRootKey(transitSettings("other"))],
  ],
  [
    "Transit with an AppRole",
    async () => {
      const credentials = { kind: "approle", roleId: "role", secretId: new Sensitive("secret") } as const;
      return [
        new TransitRootKey({ ...transitSettings(), credentials }),
        new TransitRootKey({ ...transitSettings("other"), credentials }),
      ];
    },
  ],
  ["AWS KMS", async () => [new KmsRootKey(KMS_KEYS[0]), new KmsRootKey(KMS_KEYS[1])]],
];

const SECRET = Buffer.from("0123456789abcdef0123456789abcdef");
const CONTEXT = Buffer.from("a tenant, a purpose, a version");
const refused = { name: "RootKeyRefused" };

describe.each(holders)("a root key held by %s", (_, make) => {
  let key: RootKey;
  let other: RootKey;
  beforeAll(async () => {
    [key, other] = await make();
  });

  it("unwraps what it wrapped, in the same context", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 64 }),
        fc.uint8Array({ maxLength: 64 }),
        async (secret, context) => {
          const opened = await key.unwrap(await key.wrap(secret, context), context);
          expect(Buffer.from(secret).equals(opened)).toBe(true);
        },
      ),
      { numRuns: 20 },
    );
  });

  it("wraps the same secret differently each time, and never shows it", async () => {
    const [one, two] = [await key.wrap(SECRET, CONTEXT), await key.wrap(SECRET, CONTEXT)];
    expect(one.equals(two)).toBe(false);
    for (const wrapped of [one, two]) {
      expect(wrapped.includes(SECRET)).toBe(false);
      expect(wrapped.includes(SECRET.toString("base64"))).toBe(false);
    }
  });

  it("refuses another context, values wrapped by another key, and values that were never wrapped", async () => {
    const wrapped = await key.wrap(SECRET, CONTEXT);
    await expect(key.unwrap(wrapped, Buffer.from("another context"))).rejects.toMatchObject(refused);
    await expect(other.unwrap(wrapped, CONTEXT)).rejects.toMatchObject(refused);
    for (const nothing of [Buffer.alloc(0), Buffer.from("nothing"), Buffer.alloc(200, 7)]) {
      await expect(key.unwrap(nothing, CONTEXT)).rejects.toMatchObject(refused);
    }
  });

  it("refuses a wrapped key that was changed or truncated anywhere", async () => {
    const wrapped = await key.wrap(SECRET, CONTEXT);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: wrapped.length - 1 }), fc.boolean(), async (at, isCut) => {
        const changed = isCut ? wrapped.subarray(0, at) : Buffer.from(wrapped);
        // The last base64 digit may hold unused bits, so the change is made further to the front.
        if (!isCut) changed[Math.min(at, wrapped.length - 5)] = 0x21;
        if (changed.equals(wrapped)) return;
        await expect(key.unwrap(changed, CONTEXT)).rejects.toMatchObject(refused);
      }),
      { numRuns: 30 },
    );
  });

  it("is recognized by its check value, and no other key is", async () => {
    const check = await createCheckValue(key);
    expect(await matchesCheckValue(key, check)).toBe(true);
    expect(await matchesCheckValue(other, check)).toBe(false);
    expect(key.id).not.toBe(other.id);
  });
});

/** Each way in which a holder fails, and the message for the operator. */
const failures: [string, () => RootKey, string, RegExp][] = [
  [
    "Transit that is sealed",
    () => {
      transit.mood = "sealed";
      return new TransitRootKey(transitSettings());
    },
    "RootKeyUnreachable",
    /does not respond \(it is sealed\)\. Start it or unseal it, or correct CLOAKROOM_TRANSIT_URL\.$/,
  ],
  [
    "Transit that never responds",
    () => {
      transit.mood = "silent";
      return new TransitRootKey(transitSettings());
    },
    "RootKeyUnreachable",
    /does not respond \(nothing within 500 ms\)/,
  ],
  [
    "an address without a listener",
    () => new TransitRootKey({ ...transitSettings(), origin: "https://127.0.0.1:1" }),
    "RootKeyUnreachable",
    /does not respond \(ECONNREFUSED\)/,
  ],
  [
    "a certificate of an unknown authority",
    () => new TransitRootKey({ ...transitSettings(), ca: undefined }),
    "RootKeyUnreachable",
    /does not respond \((UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN)\)/,
  ],
  [
    "a token that Transit does not know",
    () =>
      new TransitRootKey({
        ...transitSettings(),
        credentials: { kind: "token", token: new Sensitive("hunter2-token") },
      }),
    "RootKeyDenied",
    /does not let us use the root key transit\/cloakroom \(403\)\. Check CLOAKROOM_TRANSIT_TOKEN or the AppRole/,
  ],
  [
    "an AppRole that Transit does not know",
    () =>
      new TransitRootKey({
        ...transitSettings(),
        credentials: { kind: "approle", roleId: "role", secretId: new Sensitive("hunter2-secret") },
      }),
    "RootKeyDenied",
    /refuses the AppRole login \(400\)\. Check CLOAKROOM_TRANSIT_ROLE_ID and CLOAKROOM_TRANSIT_SECRET_ID\.$/,
  ],
  [
    "KMS that denies access",
    () => {
      kms.failing = "AccessDeniedException";
      return new KmsRootKey(KMS_KEYS[0]);
    },
    "RootKeyDenied",
    /\(AccessDeniedException\)\. Check CLOAKROOM_KMS_KEY_ID/,
  ],
  ["a key that KMS does not know", () => new KmsRootKey("alias/none"), "RootKeyDenied", /\(NotFoundException\)/],
  [
    "KMS that fails",
    () => {
      kms.failing = "KMSInternalException";
      return new KmsRootKey(KMS_KEYS[0]);
    },
    "RootKeyUnreachable",
    /^AWS KMS, which holds the root key .*, does not respond \(KMSInternalException\)\. Check the network and AWS_REGION\.$/,
  ],
];

describe("the operator gets a one-line message", () => {
  it.each(failures)("of %s", async (_, make, name, message) => {
    const key = make();
    const error = await key.wrap(SECRET, CONTEXT).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name, message: expect.stringMatching(message) });
    expect(String(error).split("\n")).toHaveLength(1);
    expect(String(error)).not.toContain("hunter2");
  });
});

describe("a Transit key", () => {
  it("is used within its namespace", async () => {
    await new TransitRootKey({ ...transitSettings(), namespace: "team/vault" }).wrap(SECRET, CONTEXT);
    expect(transit.namespace).toBe("team/vault");
  });

  it("unwraps values from before its rotation and reports that they are older", async () => {
    const key = new TransitRootKey(transitSettings());
    const before = await key.wrap(SECRET, CONTEXT);
    await key.renew();
    const after = await key.wrap(SECRET, CONTEXT);
    expect(key.generationOf(after)).toBe(key.generationOf(before) + 1);
    expect((await key.unwrap(before, CONTEXT)).equals(SECRET)).toBe(true);
  });

  it("logs in again, once, when its login has expired", async () => {
    const credentials = { kind: "approle", roleId: "role", secretId: new Sensitive("secret") } as const;
    const key = new TransitRootKey({ ...transitSettings(), credentials });
    await key.wrap(SECRET, CONTEXT);
    for (const token of transit.tokens) if (token.startsWith("login-")) transit.tokens.delete(token);
    transit.requests.length = 0;
    await Promise.all([1, 2, 3].map(() => key.wrap(SECRET, CONTEXT)));
    await key.wrap(SECRET, CONTEXT);
    const logins = transit.requests.filter((request) => request === "POST auth/approle/login");
    expect(logins.length).toBeGreaterThan(0);
    expect(logins.length).toBeLessThanOrEqual(3);
  });
});

describe("AWS KMS", () => {
  it("receives a digest of the context, not the tenant", async () => {
    kms.requests.length = 0;
    await new KmsRootKey(KMS_KEYS[0]).wrap(SECRET, CONTEXT);
    expect(kms.requests[0]?.body.EncryptionContext).toEqual({ cloakroom: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });
});

describe("a key file", () => {
  it("contains the old key and the new one, which is last", async () => {
    const path = join(directory, "growing.key");
    const first = await createKeyFile(path);
    const wrapped = await first.wrap(SECRET, CONTEXT);
    const second = await addToKeyFile(path);
    const keys = await readKeyFile(path);
    expect(keys.map(({ id }) => id)).toEqual([first.id, second.id]);
    expect((await keys[0].unwrap(wrapped, CONTEXT)).equals(SECRET)).toBe(true);
    await expect(second.unwrap(wrapped, CONTEXT)).rejects.toMatchObject(refused);
  });
});
