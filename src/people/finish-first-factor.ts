import { newSecret } from "../access/secret-text.js";
import type { OrdinaryTenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import { newUuid, type TenantId } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import { lockMember, type MemberRow } from "../store/people/members.js";
import { openSealedRights } from "../tenancy/profile.js";
import { type FirstFactor, type StartedSignIn, startSignIn } from "./sign-in.js";
import { beginSignIn } from "./sign-in-request.js";
import type { Visit } from "./visit.js";

export interface AwaitedPasskey {
  readonly kind: "passkey_awaited";
  readonly tenantId: TenantId;
  /** The value of the browser's cookie, known only now. */
  readonly token: Sensitive<string>;
}

export type SignInStep = StartedSignIn | AwaitedPasskey;

/** Signs in a member who has proved a first factor, or waits for the passkey of one who has a passkey. */
export async function finishFirstFactor(
  tx: OrdinaryTenantTransaction,
  { id: memberId }: Pick<MemberRow, "id">,
  factor: FirstFactor,
  visit: Visit,
): Promise<SignInStep> {
  // Locked: a first passkey that is added at the same time ends sign-ins without one, and must see this one.
  const member = await lockMember(tx, memberId);
  if (!member) throw new Fault("unauthenticated", "You are not a member any more.");
  const { needsPasskey } = openSealedRights(tx.keys, member);
  if (!needsPasskey) return startSignIn(tx, member, factor, visit);
  const id = newUuid();
  const { text: token, hash } = newSecret("pky", tx.tenantId, id);
  const { method, identity, until } = factor;
  const details = {
    memberId: member.id,
    method,
    ...(identity ? { identity: { ...identity } } : {}),
    ...(until ? { until: until.getTime() } : {}),
  };
  beginSignIn(tx, { method: "passkey", id, browserHash: hash }, details);
  return { kind: "passkey_awaited", tenantId: tx.tenantId, token };
}
