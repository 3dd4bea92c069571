import type { DescMethod } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Authenticator } from "../../../src/access/authenticate.js";
import type { Caller } from "../../../src/access/caller.js";
import { FramePasses } from "../../../src/access/frame-passes.js";
import { type AdmissionParts, createAdmission } from "../../../src/api/admission/admission.js";
import type { RequestHead } from "../../../src/api/request/request-head.js";
import { EMPTY_CONTEXT } from "../../../src/audit/audit-context.js";
import { HOUR_MS } from "../../../src/base/clock.js";
import { Fault } from "../../../src/base/fault.js";
import { PersonAuthenticator } from "../../../src/people/person-authenticator.js";
import { SERVICES } from "../../../src/server/served-services.js";
import { readConfig } from "../../../src/settings/config.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { frameHeader } from "../../support/frame-pass.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { UNLIMITED_MEMORY } from "../../support/unlimited-memory.js";

const SHOP = "https://shop.example.com";
const RULE = { priority: 1, container: "/pci/", transform: "reveal", permissions: ["token:read", "token:use"] };

/** Definitions of applications by their type. */
const DEFINITIONS = {
  private: [
    { permissions: ["token:create", "token:read", "token:search"] },
    { permissions: ["token:search"] },
    { permissions: ["3ds:session:create"], rules: [RULE] },
  ],
  management: [{ permissions: ["application:read", "log:read", "tenant:read"] }, { permissions: ["tenant:read"] }],
  public: [
    { permissions: ["token:create"] },
    { permissions: ["token:create"], allowed_origins: [SHOP] },
    { permissions: ["token:create"], allowed_origins: [SHOP], allow_page_requests: true },
  ],
} as const;

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
let vault: Vault;
let tenant: TestTenant;
let authorizer: string;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  [vault, tenant] = await Promise.all([openVault({ config, as: "command", announce: () => {}, clock }), newTenant()]);
  authorizer = (await tenant.backEnd()).key;
});
afterAll(() => vault?.[Symbol.asyncDispose]());

/** Looks every key up on the way of those whose rights it does not know. */
class SlowAuthenticator extends Authenticator {
  override knownHolder(): undefined {
    return undefined;
  }
}

interface Sender {
  readonly type: keyof typeof DEFINITIONS;
  readonly definition: number;
  readonly holds: "key" | "ending key" | "session" | "authorized session";
  /** What happens between its first request and the next ones. */
  readonly since: "nothing" | "two hours" | "other rights" | "deletion" | "forgetting";
}

interface SentRequest {
  readonly method: DescMethod;
  readonly pass: "none" | "own" | "malformed";
  readonly hasBadReason: boolean;
}

const methods = SERVICES.flatMap((service) => service.methods);
/** Those of pages, and some that one of the definitions allows. */
const usual = [
  ...["CreateToken", "GetToken", "CreateSession", "GetApplicationByKey", "GetServerVersion", "CreateThreeDSSession"],
  ...["SearchTokens", "ListApplications", "ListLogs", "GetTenant", "InvokeReactor"],
];
const sender = fc.record<Sender>({
  type: fc.constantFrom("private", "management", "public", "public"),
  definition: fc.nat(2),
  holds: fc.constantFrom("key", "ending key", "session", "authorized session"),
  since: fc.constantFrom("nothing", "nothing", "two hours", "other rights", "deletion", "forgetting"),
});
const request = fc.record<SentRequest>({
  method: fc.oneof(
    { arbitrary: fc.constantFrom(...methods.filter(({ name }) => usual.includes(name))), weight: 3 },
    { arbitrary: fc.constantFrom(...methods), weight: 1 },
  ),
  pass: fc.constantFrom("none", "none", "none", "own", "malformed"),
  hasBadReason: fc.constantFrom(false, false, false, true),
});

function definitionOf({ type, definition }: Sender, offset = 0) {
  const all = DEFINITIONS[type];
  return { name: "A", type, ...all[(definition + offset) % all.length] };
}

/** A new application with what its sender holds of it, and how it changes. */
async function newSender(asked: Sender) {
  const { type, holds, since } = asked;
  const { key, id } = await tenant.application(definitionOf(asked));
  const hasFrames = "allowed_origins" in definitionOf(asked);
  const frame = hasFrames ? await frameHeader(tenant.url, key, SHOP) : {};
  const change = async () => {
    clock.ahead = since === "two hours" ? 2 * HOUR_MS : 0;
    if (since === "deletion") await tenant.manage("DELETE", `/applications/${id}`);
    if (since === "other rights") await tenant.manage("PUT", `/applications/${id}`, { body: definitionOf(asked, 1) });
  };
  const made = { change, pass: frame["Cloakroom-Frame"] };
  if (holds === "ending key") {
    const body = { expires_at: new Date(Date.now() + HOUR_MS).toISOString() };
    const ending = await tenant.manage("POST", `/applications/${id}/keys`, { body });
    return { ...made, key: String(ending.body.key) };
  }
  if (type !== "public" || holds === "key") return { ...made, key };
  const { body: session } = await tenant.manage("POST", "/sessions", { key, headers: frame });
  if (holds === "authorized session") {
    const body = { nonce: session.nonce, permissions: ["token:read"] };
    await tenant.manage("POST", "/sessions/authorize", { key: authorizer, body });
  }
  return { ...made, key: String(session.session_key) };
}

function headOf(
  key: string,
  { pass, hasBadReason }: SentRequest,
  own: string | undefined,
  proofs: unknown[],
): RequestHead {
  const sent = pass === "own" ? own : pass === "malformed" ? "x" : undefined;
  const headers = new Map([["bt-api-key", key], ...(sent === undefined ? [] : [["cloakroom-frame", sent] as const])]);
  return {
    header: (name) => headers.get(name),
    traceId: "a-trace",
    signal: new AbortController().signal,
    memory: { ...UNLIMITED_MEMORY, prove: (proof) => void proofs.push(proof) },
    audit: {
      context: EMPTY_CONTEXT,
      badReason: hasBadReason ? new Fault("reason_invalid", "The reason is too long.") : undefined,
    },
  };
}

function shown(caller: Caller | undefined) {
  return caller && { ...caller, grant: caller.grant.layers.map(({ permissions, rules }) => ({ permissions, rules })) };
}

/** How a request is admitted or refused, with its proofs, and whether that was known at once. */
async function admit(authenticator: Authenticator, desc: DescMethod, headWith: (proofs: unknown[]) => RequestHead) {
  const { database, keyring } = vault;
  const people = new PersonAuthenticator(database, keyring, clock, HOUR_MS);
  const parts: AdmissionParts = {
    authenticator,
    people,
    database,
    framePasses: new FramePasses(database, keyring, clock),
  };
  const proofs: unknown[] = [];
  let isKnown = false;
  try {
    const admitted = createAdmission(desc, parts).admit(headWith(proofs));
    isKnown = !(admitted instanceof Promise);
    const { caller } = await admitted;
    return { isKnown, outcome: { caller: shown(caller), proofs } };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { code, message, fields } = error;
    return { isKnown, outcome: { code, message, fields, proofs } };
  }
}

it("admits or refuses the same requests, with the same words, whether the rights of a key are known or looked up", async () => {
  const counts = { known: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(sender, fc.array(request, { minLength: 4, maxLength: 8 }), async (asked, requests) => {
      clock.ahead = 0;
      const { key, pass, change } = await newSender(asked);
      const { database, keyring } = vault;
      const [fast, slow] = [Authenticator, SlowAuthenticator].map((Made) => new Made(database, keyring, clock));
      if (!fast || !slow) throw new Error("nothing to compare");
      for (const each of [fast, slow]) await each.identify(key, EMPTY_CONTEXT);
      await change();
      if (asked.since === "forgetting") for (const each of [fast, slow]) each.forget(key);
      for (const sent of requests) {
        const head = (proofs: unknown[]) => headOf(key, sent, pass, proofs);
        const one = await admit(fast, sent.method, head);
        const other = await admit(slow, sent.method, head);
        expect(one.outcome).toEqual(other.outcome);
        expect(other.isKnown).toBe(false);
        counts.known += one.isKnown ? 1 : 0;
        counts.refused += "code" in one.outcome ? 1 : 0;
      }
    }),
    { numRuns: 60 },
  );
  expect(Math.min(counts.known, counts.refused)).toBeGreaterThan(5);
});
