import { inject } from "vitest";
import type { ContainerPath } from "../../src/access/container.js";
import type { Role } from "../../src/access/role.js";
import { asServer } from "../../src/audit/tenant-database.js";
import { isTenantId, parseUuid } from "../../src/base/ids.js";
import { confirmPasskey } from "../../src/people/confirm-passkey.js";
import { newMember } from "./member.js";
import type { RestResponse } from "./rest.js";
import { type Forgery, SoftwareAuthenticator } from "./software-authenticator.js";
import { type TestTenant, withVault } from "./tenant.js";
import { signedIn, type TestBrowser } from "./test-browser.js";

/** The origin of pages that may use passkeys: browsers make none for 127.0.0.1. */
export const passkeyOrigin = () => inject("serverUrl").replace("127.0.0.1", "localhost");

/** Calls a method of PasskeyService. */
export const callPasskeys = (browser: TestBrowser, operation: string, body: object = {}): Promise<RestResponse> =>
  browser.call(`PasskeyService/${operation}`, body);

/** Adds a passkey in a browser where its person is signed in. */
export async function addPasskey(
  browser: TestBrowser,
  authenticator: SoftwareAuthenticator,
  forgery?: Forgery,
): Promise<RestResponse> {
  const { body } = await callPasskeys(browser, "BeginPasskeyRegistration");
  const credential = authenticator.register(body.options, forgery);
  return callPasskeys(browser, "FinishPasskeyRegistration", {
    ...{ challengeId: body.challengeId, credential, name: "A key" },
  });
}

/** Answers a challenge of a sign-in, or of a check. */
export async function provePasskey(
  browser: TestBrowser,
  authenticator: SoftwareAuthenticator,
  step: "SignIn" | "Check",
  forgery?: Forgery,
): Promise<RestResponse> {
  const begun = await callPasskeys(browser, `BeginPasskey${step}`);
  if (begun.status !== 200) throw new Error(`a challenge got ${begun.status}: ${JSON.stringify(begun.body)}`);
  const { challengeId, options } = begun.body;
  return callPasskeys(browser, `FinishPasskey${step}`, {
    ...{ challengeId, credential: authenticator.prove(options, forgery) },
  });
}

/** A member whose first passkey waits to be confirmed. */
export async function memberWithWaitingPasskey(tenant: TestTenant, role?: Role, containers?: readonly ContainerPath[]) {
  const email = await newMember(tenant, role, undefined, containers);
  const browser = await signedIn(tenant.id, email);
  const authenticator = new SoftwareAuthenticator(passkeyOrigin());
  const added = await addPasskey(browser, authenticator);
  if (added.status !== 200) throw new Error(`adding a passkey returned ${added.status}: ${JSON.stringify(added.body)}`);
  return { email, browser, authenticator, passkey: added.body };
}

/** A member with a passkey that counts, who has just proved it. */
export async function memberWithPasskey(tenant: TestTenant, role?: Role, containers?: readonly ContainerPath[]) {
  const member = await memberWithWaitingPasskey(tenant, role, containers);
  const { browser, authenticator, passkey } = member;
  await confirmInVault(tenant, passkey.id);
  const proved = await provePasskey(browser, authenticator, "Check");
  if (proved.status !== 200) throw new Error(`a proof returned ${proved.status}: ${JSON.stringify(proved.body)}`);
  return { ...member, passkey: { ...passkey, countsFrom: undefined } };
}

/** Confirms a passkey as the OWNER does, without an OWNER. */
export async function confirmInVault(
  { id: tenantId }: TestTenant,
  passkeyId: string,
  environment: Readonly<Record<string, string>> = inject("serverEnvironment"),
): Promise<void> {
  const id = parseUuid(passkeyId);
  if (!isTenantId(tenantId) || !id) throw new Error("not the ids of a tenant and a passkey");
  await withVault(environment, async ({ database, keyring }) => {
    const keys = await keyring.of(tenantId);
    await asServer(database, keys).ordinary((tx) => confirmPasskey(tx, id));
  });
}
