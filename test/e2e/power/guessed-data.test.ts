import fc from "fast-check";
import { beforeAll, describe, expect, inject, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { addPasskey, memberWithPasskey, passkeyOrigin } from "../../support/passkeys.js";
import { SoftwareAuthenticator } from "../../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

/*
 * A match confirms a guess. So for everybody who would need a second factor to see a value, or never sees one, the result
 * of every query is the same whether or not the digits in it are those of a token.
 */

const SSN = "123-45-6789";
const SEARCHES = ["TokenService/SearchTokens", "TokenService/SearchTokensByCursor"] as const;

/** Members who must learn nothing, and the code that a search for data gets. */
const BLIND = [
  { role: "OWNER", hasSecondFactor: false, code: "second_factor_required" },
  { role: "ADMIN", hasSecondFactor: false, code: "second_factor_required" },
  { role: "AUDITOR", hasSecondFactor: false, code: "permission_denied" },
  { role: "AUDITOR", hasSecondFactor: true, code: "permission_denied" },
  { role: "DEVELOPER", hasSecondFactor: false, code: "permission_denied" },
  { role: "DEVELOPER", hasSecondFactor: true, code: "permission_denied" },
] as const;
const nameOf = (role: Role, hasSecondFactor: boolean) => `${role}${hasSecondFactor ? " with a second factor" : ""}`;

let tenant: TestTenant;
let id: string;
const browsers = new Map<string, TestBrowser>();

async function memberOf(role: Role, hasSecondFactor: boolean): Promise<TestBrowser> {
  if (role === "OWNER") return signedIn(tenant.id, "owner@example.com");
  if (hasSecondFactor) return (await memberWithPasskey(tenant, role)).browser;
  return signedIn(tenant.id, await newMember(tenant, role));
}

beforeAll(async () => {
  tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const body = { type: "social_security_number", data: SSN, metadata: { desk: "7" } };
  id = (await backEnd("POST", "/tokens", { body })).body.id;
  for (const { role, hasSecondFactor } of BLIND) {
    browsers.set(nameOf(role, hasSecondFactor), await memberOf(role, hasSecondFactor));
  }
});

/** GUESS is replaced by digits of the token, or by others. */
const term = fc.constantFrom(
  ...["data:GUESS", "data:GUESS", 'data:"GUESS"', "id:ID", "type:social_security_number", "type:card"],
  ...["metadata.desk:7", "container:/pii/*", "created_at:[2026-01-01 TO *]"],
);
const { query } = fc.letrec<{ query: string }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 3 },
    term,
    tie("query").map((one) => `NOT (${one})`),
    fc
      .tuple(tie("query"), fc.constantFrom("AND", "OR", "NOT"), tie("query"))
      .map(([one, word, other]) => `(${one} ${word} ${other})`),
  ),
}));
const digits = fc.constantFrom(SSN, SSN.replaceAll("-", ""), SSN.slice(-4));

function browserOf(role: Role, hasSecondFactor: boolean): TestBrowser {
  const browser = browsers.get(nameOf(role, hasSecondFactor));
  if (!browser) throw new Error("no such member");
  return browser;
}

describe("a search by somebody who may not see values now", () => {
  it("tells nothing of a token's data, whatever role, factor and terms are joined", async () => {
    let accepted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...BLIND),
        query,
        digits,
        fc.constantFrom(...SEARCHES),
        async ({ role, hasSecondFactor }, written, guess, operation) => {
          const seen = async (guessed: string) => {
            const asked = written.replaceAll("GUESS", guessed).replaceAll("ID", id);
            const { status, body } = await browserOf(role, hasSecondFactor).call(operation, { query: asked });
            return JSON.stringify([status, body.message, body.data, body.pagination]);
          };
          const [right, wrong] = await Promise.all([seen(guess), seen(guess.replaceAll(/[1-9]/g, "8"))]);
          expect(right).toBe(wrong);
          if (right.startsWith("[200")) accepted += 1;
          if (right.startsWith("[403")) refused += 1;
        },
      ),
      { numRuns: 300 },
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(20);
  });

  it.each(BLIND)("is refused by $code, and finds tokens by all else: $role, $hasSecondFactor", async (member) => {
    const { role, hasSecondFactor, code } = member;
    const browser = browserOf(role, hasSecondFactor);
    for (const operation of SEARCHES) {
      const { status, body } = await browser.call(operation, { query: "data:6789" });
      expect([operation, status, JSON.stringify(body)]).toEqual([operation, 403, expect.stringContaining(code)]);
      const found = await browser.call(operation, { query: "metadata.desk:7" });
      if (role === "DEVELOPER") expect(found.status).toBe(403);
      else expect(found.body.data).toMatchObject([{ id }]);
    }
  });

  it("is refused by name, with a row in the log", async () => {
    const auditor = browserOf("AUDITOR", false);
    const { body } = await auditor.call("TokenService/SearchTokens", { query: "data:6789" });
    const message = "Your role AUDITOR may not search for data; OWNER and ADMIN may, with a second factor.";
    expect(body.message).toBe(message);
    const { memberId } = (await auditor.call("SignInService/WhoAmI")).body;
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=member&entity_id=${memberId}&size=20`);
    expect(log.data).toContainEqual(
      expect.objectContaining({ message: "Member refused: TokenService/SearchTokens", outcome: "denied" }),
    );
  });
});

describe("a search by somebody who may see values", () => {
  const expectFound = async (browser: TestBrowser) => {
    for (const operation of SEARCHES) {
      expect((await browser.call(operation, { query: "data:6789" })).body.data).toMatchObject([{ id }]);
      expect((await browser.call(operation, { query: "data:8888" })).body.data ?? []).toEqual([]);
    }
  };

  it("finds a token by its data: ADMIN with a second factor", async () => {
    await expectFound((await memberWithPasskey(tenant, "ADMIN")).browser);
  });

  it("finds a token by its data: OWNER with a second factor", async () => {
    const other = await newTenant();
    const owner = await signedIn(other.id, "owner@example.com");
    await addPasskey(owner, new SoftwareAuthenticator(passkeyOrigin()));
    expect((await owner.call("TokenService/SearchTokens", { query: "data:6789" })).status).toBe(200);
  });

  it("finds a token by its data: the key of an application, also one that sees it redacted", async () => {
    const rule = (transform: string) => [{ priority: 1, container: "/", transform, permissions: ["token:search"] }];
    for (const transform of ["mask", "redact"]) {
      const desk = await tenant.application({ type: "private", rules: rule(transform) });
      const { body } = await desk("POST", "/tokens/search", { body: { query: "data:6789" } });
      expect(body.data).toMatchObject([{ id }]);
    }
  });
});

// A cluster refuses webhooks.
describe.runIf(!inject("isCluster"))("the fingerprint of a token", () => {
  it("is in no event that a DEVELOPER reads, who makes applications that create tokens of guesses", async () => {
    const hook = { name: "n", url: "https://shop.example.com/", events: ["token.created"] };
    const { body: webhook } = await tenant.manage("POST", "/webhooks", { body: hook });
    const backEnd = await tenant.backEnd();
    const body = { type: "token", data: "guess", fingerprint_expression: "{{ data }}", metadata: { desk: "7" } };
    const { body: token } = await backEnd("POST", "/tokens", { body });
    const eventFor = async (browser: TestBrowser) => {
      const { body: list } = await browser.call("WebhookService/ListWebhookDeliveries", { id: webhook.id });
      const named = { id: webhook.id, eventId: list.data[0].eventId };
      const read = await browser.call("WebhookService/GetWebhookDelivery", named);
      expect(read.status, JSON.stringify(read.body)).toBe(200);
      return read.body.event.data.token;
    };
    const { fingerprint, ...others } = await eventFor(browserOf("ADMIN", false));
    expect([others.id, fingerprint]).toEqual([token.id, token.fingerprint]);
    for (const hasSecondFactor of [false, true]) {
      expect(await eventFor(browserOf("DEVELOPER", hasSecondFactor))).toEqual(others);
    }
    expect(await eventFor(browserOf("AUDITOR", false))).toEqual({ fingerprint, ...others });
  });
});
