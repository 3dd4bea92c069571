import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

/*
 * An AUDITOR sees no value. For every query the result is the same whether or not the digits in it are those of a token.
 */

const SSN = "123-45-6789";
const SEARCHES = ["TokenService/SearchTokens", "TokenService/SearchTokensByCursor"] as const;

let tenant: TestTenant;
let id: string;
let auditor: TestBrowser;
const member = async (role: Role) => signedIn(tenant.id, await newMember(tenant, role));
beforeAll(async () => {
  tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const body = { type: "social_security_number", data: SSN, metadata: { desk: "7" } };
  id = (await backEnd("POST", "/tokens", { body })).body.id;
  auditor = await member("AUDITOR");
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

describe("a search by an AUDITOR", () => {
  it("tells nothing of a token's data, whatever terms are joined", async () => {
    let accepted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(query, digits, fc.constantFrom(...SEARCHES), async (written, guess, operation) => {
        const seen = async (guessed: string) => {
          const asked = written.replaceAll("GUESS", guessed).replaceAll("ID", id);
          const { status, body } = await auditor.call(operation, { query: asked });
          return JSON.stringify([status, body.message, body.data, body.pagination]);
        };
        const [right, wrong] = await Promise.all([seen(guess), seen(guess.replaceAll(/[1-9]/g, "8"))]);
        expect(right).toBe(wrong);
        if (right.startsWith("[200")) accepted += 1;
        if (right.startsWith("[403")) refused += 1;
      }),
      { numRuns: 150 },
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(10);
  });

  it("is refused by name where it compares data, with a row in the log, and finds tokens by all else", async () => {
    for (const operation of SEARCHES) {
      const { status, body } = await auditor.call(operation, { query: "data:6789" });
      const message = "Your role AUDITOR may not search for data; OWNER and ADMIN may.";
      expect([operation, status, body.message]).toEqual([operation, 403, message]);
      const found = await auditor.call(operation, { query: "metadata.desk:7" });
      expect(found.body.data).toMatchObject([{ id }]);
    }
    const { memberId } = (await auditor.call("SignInService/WhoAmI")).body;
    const { body: log } = await tenant.manage("GET", `/logs?entity_type=member&entity_id=${memberId}&size=20`);
    expect(log.data).toContainEqual(
      expect.objectContaining({ message: "Member refused: TokenService/SearchTokens", outcome: "denied" }),
    );
  });
});

it("an ADMIN, who sees masked values, finds a token by its data", async () => {
  const admin = await member("ADMIN");
  for (const operation of SEARCHES) {
    expect((await admin.call(operation, { query: "data:6789" })).body.data).toMatchObject([{ id }]);
  }
});
