import { type Caller, callingPerson } from "../access/caller.js";
import { type CallerTransaction, callerTransaction } from "../access/caller-transaction.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, notFound } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { type MemberRow, readMember } from "../store/people/members.js";
import { readSignIn } from "../store/people/sign-ins.js";
import { openProfile } from "../tenancy/profile.js";
import { finishFirstFactor, type SignInStep } from "./finish-first-factor.js";
import { memberWithIdentity } from "./identity.js";
import { type Identity, METHODS, openSignIn, type SignInMethod } from "./sign-in.js";
import { type LinkParts, memberWithAddress } from "./sign-in-link.js";
import { endSignIn } from "./sign-ins.js";
import type { Visit } from "./visit.js";

/** What a sign-in proves about its person, in every tenant. */
interface Proven {
  readonly method: SignInMethod;
  readonly email: string | undefined;
  readonly identity: Identity | undefined;
  /** Its absolute end, which no switch moves. */
  readonly until: Date;
}

/**
 * Signs a person in at another tenant until the end of the sign-in used, which ends.
 * @throws {Fault} not_found unless the person is a member there: also for a tenant that does not exist.
 */
export async function switchTenant(
  { tenants }: LinkParts,
  caller: Caller,
  tenantId: TenantId,
  visit: Visit,
): Promise<SignInStep> {
  const proven = await (await tenants.as(caller)).ordinary((tx) => provenBy(tx));
  const tenant = await tenants.find(tenantId);
  if (!tenant) throw notFound("tenant");
  const started = await tenant.ordinary(async (tx) => {
    const member = await findIn(tx, proven);
    if (!member) throw notFound("tenant");
    return finishFirstFactor(tx, member, proven, visit);
  });
  const own = await tenants.of(caller.tenantId);
  await own.ordinary((tx) => endSignIn(callerTransaction(tx, tx.keys, caller), callingPerson(caller).signInId));
  return started;
}

async function provenBy(tx: CallerTransaction): Promise<Proven> {
  const { memberId, signInId } = callingPerson(tx.caller);
  const [member, row] = await Promise.all([tx.query(readMember, memberId), tx.query(readSignIn, signInId)]);
  const method = METHODS.find((known) => known === row?.method);
  if (!member || !row || !method) throw new Fault("unauthenticated", "The sign-in has ended. Sign in again.");
  const { email } = openProfile(tx.keys, member);
  // The operator stood for the person in the tenant of the link only.
  const taken = method === "operator" ? "link" : method;
  return { method: taken, email, identity: openSignIn(tx.keys, row).identity, until: row.expires_at };
}

/** An issuer may have given the address to another person, so a sign-in there is found by its identity only. */
function findIn(tx: TenantTransaction, { method, email, identity }: Proven): Promise<MemberRow | null> {
  if (identity) return memberWithIdentity(tx, identity);
  if (method === "openid" || email === undefined) return Promise.resolve(null);
  return memberWithAddress(tx, email);
}
