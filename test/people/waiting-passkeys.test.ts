import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { asServer } from "../../src/audit/tenant-database.js";
import { DAY_MS } from "../../src/base/clock.js";
import { isTenantId, newUuid, parseUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import { readAuthentication } from "../../src/people/credential-text.js";
import { openPasskey, passkeyRecord } from "../../src/people/passkey.js";
import { acceptProof } from "../../src/people/passkey-proof.js";
import { chooseRelyingParty } from "../../src/people/relying-party.js";
import { requireJustSignedIn, SIGN_IN_SECONDS } from "../../src/people/sign-in.js";
import { writeWaitingPasskeyMessage } from "../../src/people/waiting-passkey-message.js";
import { authenticationOptions } from "../../src/people/webauthn.js";
import { readConfig } from "../../src/settings/config.js";
import { insertMessage } from "../../src/store/jobs/outbox.js";
import { readMember, updateMemberProfile } from "../../src/store/people/members.js";
import { readPasskeyRow, updatePasskey } from "../../src/store/people/passkeys.js";
import { parseEmailAddress } from "../../src/tenancy/email-address.js";
import { countInvitationTo } from "../../src/tenancy/mail-limits.js";
import { Outbox } from "../../src/tenancy/outbox.js";
import { sealProfile } from "../../src/tenancy/profile.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import {
  addPasskey,
  callPasskeys,
  confirmInVault,
  memberWithPasskey,
  memberWithWaitingPasskey,
  passkeyOrigin,
} from "../support/passkeys.js";
import { SoftwareAuthenticator } from "../support/software-authenticator.js";
import { newTenant, type TestTenant } from "../support/tenant.js";
import { nextSignInLink, signedIn, signInLinks, TestBrowser } from "../support/test-browser.js";

let vault: Vault;
let tenant: TestTenant;
let tenantId: TenantId;
let aheadBy = 0;
beforeAll(async () => {
  const config = readConfig(inject("serverEnvironment"));
  vault = await openVault({ config, as: "command", announce: () => {}, clock: { now: () => Date.now() + aheadBy } });
  tenant = await newTenant();
  if (!isTenantId(tenant.id)) throw new Error("the tenant has no id");
  tenantId = tenant.id;
});
afterAll(() => vault?.[Symbol.asyncDispose]());

type Waiting = Awaited<ReturnType<typeof memberWithWaitingPasskey>>;

function idOf({ passkey }: Waiting): Uuid {
  const id = parseUuid(String(passkey.id));
  if (!id) throw new Error("a passkey has no id");
  return id;
}

/** Whether a proof by a passkey counts at a time. */
async function countsAfter(ms: number, waiting: Waiting): Promise<boolean | undefined> {
  aheadBy = ms;
  try {
    const keys = await vault.keyring.of(tenantId);
    return await asServer(vault.database, keys).ordinary(async (tx) => {
      const row = await tx.query(readPasskeyRow, idOf(waiting));
      if (!row) throw new Error("the passkey is gone");
      const challenge = randomBytes(32).toString("base64url");
      const relyingParty = chooseRelyingParty(inject("serverUrl"));
      const options = JSON.stringify(await authenticationOptions(relyingParty, challenge, []));
      const credential = readAuthentication(waiting.authenticator.prove(options));
      const proof = { relyingParty, challenge, credential, memberId: row.member_id };
      return (await acceptProof(tx, proof, EMPTY_CONTEXT))?.counts;
    });
  } finally {
    aheadBy = 0;
  }
}

const message = async (id: Uuid, ms = 0) => {
  aheadBy = ms;
  const parts = { ...vault, publicUrl: "https://vault.example" };
  const written = await writeWaitingPasskeyMessage(parts, tenantId, id).finally(() => {
    aheadBy = 0;
  });
  return written && { to: written.to, text: written.text.reveal() };
};

describe("a passkey that was added without a second factor", () => {
  it("counts a day later", async () => {
    const waiting = await memberWithWaitingPasskey(tenant);
    expect(await countsAfter(0, waiting)).toBe(false);
    expect(await countsAfter(DAY_MS - 60_000, waiting)).toBe(false);
    expect(await countsAfter(DAY_MS + 60_000, waiting)).toBe(true);
  });

  it("shows no time from which it counts once that is over", async () => {
    const waiting = await memberWithWaitingPasskey(tenant);
    const keys = await vault.keyring.of(tenantId);
    await vault.database.of(tenantId).ordinary(async (tx) => {
      const row = await tx.query(readPasskeyRow, idOf(waiting));
      if (!row) throw new Error("the passkey is gone");
      const over = { ...openPasskey(keys, tx, row), countsFrom: new Date(Date.now() - 1_000) };
      const details = passkeyRecord.seal(keys, row, over);
      tx.enqueue(updatePasskey, { id: row.id, details, last_used_at: row.last_used_at });
    });
    const { body } = await callPasskeys(waiting.browser, "ListPasskeys");
    expect(body.data).toHaveLength(1);
    expect(body.data[0].countsFrom).toBeUndefined();
  });

  it("is removed by its member, who can prove no second factor", async () => {
    const { browser, passkey } = await memberWithWaitingPasskey(tenant);
    const second = await addPasskey(browser, new SoftwareAuthenticator(passkeyOrigin()));
    expect(second.status).toBe(200);
    expect((await callPasskeys(browser, "DeletePasskey", { id: passkey.id })).status).toBe(200);
    expect((await callPasskeys(browser, "DeletePasskey", { id: second.body.id })).status).toBe(200);
    expect((await browser.call("SignInService/WhoAmI")).body.hasPasskey).toBeUndefined();
  });

  it("stays where another passkey counts, and where it is the only one and the sign-in is old", async () => {
    const waiting = await memberWithWaitingPasskey(tenant);
    await confirmInVault(
      tenant,
      String((await addPasskey(waiting.browser, new SoftwareAuthenticator(passkeyOrigin()))).body.id),
    );
    const refused = await callPasskeys(waiting.browser, "DeletePasskey", { id: waiting.passkey.id });
    expect([refused.status, refused.body.code]).toEqual([403, "permission_denied"]);
    const now = new Date();
    const signedInBefore = (ms: number) => ({ expires_at: new Date(now.getTime() - ms + SIGN_IN_SECONDS * 1_000) });
    const require = (ms: number) => () => requireJustSignedIn(signedInBefore(ms), now, "remove your only passkey");
    expect(require(10 * 60_000)).not.toThrow();
    expect(require(10 * 60_000 + 1)).toThrow("within 10 minutes");
  });

  it("counts once it is confirmed", async () => {
    const waiting = await memberWithWaitingPasskey(tenant);
    await confirmInVault(tenant, waiting.passkey.id);
    expect(await countsAfter(0, waiting)).toBe(true);
  });

  it("is reported to the OWNER, by the member's address alone, until it counts", async () => {
    const waiting = await memberWithWaitingPasskey(tenant, "DEVELOPER");
    const id = idOf(waiting);
    const told = await message(id);
    expect(told?.to).toBe("owner@example.com");
    expect(told?.text).toContain(`${waiting.email} (DEVELOPER) has added a passkey`);
    expect(told?.text).toContain("https://vault.example/console/members");
    expect(told?.text).not.toContain("A key");
    expect(await message(id, DAY_MS + 60_000)).toBeUndefined();
    await confirmInVault(tenant, waiting.passkey.id);
    expect(await message(id)).toBeUndefined();
  });

  it("is reported although others have invited the OWNER's address as often as they may", async () => {
    const waiting = await memberWithWaitingPasskey(tenant, "DEVELOPER");
    while (!(await countInvitationTo(vault.tenants, "owner@example.com")));
    const sent: string[] = [];
    const outbox = new Outbox({
      ...vault,
      publicUrl: "https://vault.example",
      writeDisabledWebhook: async () => undefined,
      transport: {
        async send({ text }) {
          sent.push(text.reveal());
          return "sent";
        },
      },
      writeSignIn: async () => undefined,
      writeWaitingPasskey: (of, passkeyId) =>
        writeWaitingPasskeyMessage({ ...vault, publicUrl: "https://vault.example" }, of, passkeyId),
    });
    // Without a due time the server does not look for it. While it sends the tenant's invitations it takes this one, too.
    while (sent.length === 0) {
      await vault.database.of(tenantId).ordinary(async (tx) => {
        tx.enqueue(insertMessage, { id: newUuid(), passkey_id: idOf(waiting) });
      });
      while ((await outbox.sendNext(tenantId, new AbortController().signal)) !== "none");
    }
    expect(sent.join()).toContain(waiting.email);
  });

  it("keeps waiting when it is renamed, and when it is used", async () => {
    const waiting = await memberWithWaitingPasskey(tenant);
    const renamed = await callPasskeys(waiting.browser, "RenamePasskey", { id: waiting.passkey.id, name: "Another" });
    expect(renamed.body.countsFrom).toBe(waiting.passkey.countsFrom);
    await countsAfter(0, waiting);
    const { body } = await callPasskeys(waiting.browser, "ListPasskeys");
    expect(body.data).toMatchObject([{ name: "Another", countsFrom: waiting.passkey.countsFrom }]);
  });
});

describe("the OWNER's first passkey", () => {
  const newKey = () => new SoftwareAuthenticator(passkeyOrigin());

  /** The OWNER, signed in by a mailed link. */
  async function ownerByMail({ id }: TestTenant, seen: number): Promise<TestBrowser> {
    const browser = new TestBrowser();
    await browser.call("SignInService/AskForSignInLink", { email: "owner@example.com", tenantId: id });
    const link = await nextSignInLink("owner@example.com", seen);
    expect((await browser.call("SignInService/TakeSignInLink", { link })).status).toBe(200);
    return browser;
  }

  it("counts at once in a new tenant, and after the operator's link", async () => {
    const fresh = await newTenant();
    const owner = await ownerByMail(fresh, signInLinks("owner@example.com").length);
    const added = await addPasskey(owner, newKey());
    expect(added).toMatchObject({ status: 200 });
    expect(added.body.countsFrom).toBeUndefined();
    expect((await callPasskeys(owner, "DeletePasskey", { id: added.body.id })).status).toBe(200);
    const again = await signedIn(fresh.id, "owner@example.com");
    expect((await addPasskey(again, newKey())).body.countsFrom).toBeUndefined();
  });

  it("waits after the OWNER had one, and once another member's counts", async () => {
    const used = await newTenant();
    const owner = await signedIn(used.id, "owner@example.com");
    const { body: first } = await addPasskey(owner, newKey());
    expect((await callPasskeys(owner, "DeletePasskey", { id: first.id })).status).toBe(200);
    const returned = await ownerByMail(used, signInLinks("owner@example.com").length);
    expect((await addPasskey(returned, newKey())).body.countsFrom).toBeDefined();

    const late = await newTenant();
    await memberWithPasskey(late);
    const lateOwner = await ownerByMail(late, signInLinks("owner@example.com").length);
    expect((await addPasskey(lateOwner, newKey())).body.countsFrom).toBeDefined();
  });
});

it("tells the OWNER nothing that a member wrote into the address", async () => {
  const id = idOf(await memberWithWaitingPasskey(tenant));
  await vault.database.of(tenantId).ordinary(async (tx) => {
    const keys = await vault.keyring.of(tenantId);
    const passkey = await tx.query(readPasskeyRow, id);
    const member = passkey && (await tx.query(readMember, passkey.member_id));
    if (!member) throw new Error("the member is gone");
    const email = parseEmailAddress('"Confirm it at once, says your operator"@evil.example');
    if (!email) throw new Error("not an address");
    const profile = sealProfile(keys, member, { email }, { role: member.role, needsPasskey: true });
    tx.enqueue(updateMemberProfile, { id: member.id, profile });
  });
  const written = await message(id);
  expect(JSON.stringify(written)).toContain("has added a passkey");
  expect(JSON.stringify(written)).not.toContain("says your operator");
});
