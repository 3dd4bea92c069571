import { beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../../src/access/role.js";
import { newMember } from "../../support/member.js";
import { memberWithPasskey } from "../../support/passkeys.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { signedIn, type TestBrowser } from "../../support/test-browser.js";

/*
 * Code prints what its callers send to it. A person may read that only with the right to change the code to print it: for
 * each role, with and without a second factor, and each author, the two operations agree.
 */

const SECRET = "4242-print-7";
const CODE = "module.exports = async ({ args }) => { console.log(args.secret); throw new Error(args.secret); };";
const PERSONS: readonly [Role, "weak" | "strong"][] = [
  ["OWNER", "weak"],
  ["ADMIN", "weak"],
  ["ADMIN", "strong"],
  ["AUDITOR", "weak"],
  ["AUDITOR", "strong"],
  ["DEVELOPER", "weak"],
  ["DEVELOPER", "strong"],
];

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await newTenant();
});

async function person(role: Role, strength: "weak" | "strong"): Promise<TestBrowser> {
  if (strength === "strong") return (await memberWithPasskey(tenant, role)).browser;
  return role === "OWNER"
    ? await signedIn(tenant.id, "owner@example.com")
    : await signedIn(tenant.id, await newMember(tenant, role));
}

const NEW_REACTOR = { name: "Prints", code: CODE };

async function failingReactor(author: TestBrowser | undefined): Promise<string> {
  const { status, body } = author
    ? await author.call("ReactorService/CreateReactor", NEW_REACTOR)
    : await tenant.manage("POST", "/reactors", { body: NEW_REACTOR });
  expect([200, 201], JSON.stringify(body)).toContain(status);
  const caller = await tenant.backEnd();
  const args = { secret: SECRET };
  expect((await caller("POST", `/reactors/${body.id}/react`, { body: { args } })).status).toBe(500);
  return body.id;
}

describe.each(PERSONS)("%s (%s)", (role, strength) => {
  it.each(role === "AUDITOR" ? ["a key"] : ["a key", "the same person"])(
    "reads what the code of %s printed only if that person may change it",
    async (author) => {
      const reader = await person(role, strength);
      const id = await failingReactor(author === "a key" ? undefined : reader);
      const read = await reader.call("ReactorService/ListFailedReactorRuns", { id });
      const change = { id, code: `${CODE}//`, updateMask: "code" };
      const changed = await reader.call("ReactorService/UpdateReactor", change);
      expect(read.status).toBe(changed.status);
      const shows = JSON.stringify(read.body).includes(SECRET);
      expect(shows).toBe(read.status === 200);
      const mayRead = role === "DEVELOPER" ? author !== "a key" : role === "ADMIN" && strength === "strong";
      expect(read.status).toBe(mayRead ? 200 : 403);
    },
  );

  it("reads failed runs of a proxy of somebody else only as an ADMIN with a second factor", async () => {
    const proxy = { name: "P", destination_url: "https://example.com" };
    const { body } = await tenant.manage("POST", "/proxies", { body: proxy });
    const { status } = await (await person(role, strength)).call("ProxyService/ListFailedProxyRuns", { id: body.id });
    expect(status).toBe(role === "ADMIN" && strength === "strong" ? 200 : 403);
  });
});
