import type { AccessRights } from "../access/access-rule.js";
import type { ApplicationType } from "../access/permissions.js";
import { isRole } from "../access/role.js";
import { exceedsRole } from "../access/role-rights.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { readApplication } from "../store/access/applications.js";
import { findMemberOfUser } from "../store/people/members.js";
import { openSealedRights, requireSealedRole } from "../tenancy/profile.js";
import { eachProxy, eachReactor } from "./each-row.js";
import { openProxy } from "./proxy.js";

/** An application, with the rights that it is given, or that a reactor is given with it. */
export interface GivenRights {
  readonly applicationId: Uuid;
  readonly type: ApplicationType;
  readonly rights: AccessRights;
}

/**
 * Checks, before an application gets more rights, that everybody whose code acts as it may give these rights: who wrote the
 * code of a reactor, or chose where a proxy sends, would have them. The application is locked by now.
 * @throws {Fault} unprocessable, naming the proxy or reactor.
 */
export async function requireNobodyGains(tx: TenantTransaction, given: GivenRights): Promise<void> {
  const acting = new Set<Uuid>();
  for await (const { id, application_id, created_by } of eachReactor(tx)) {
    if (application_id !== given.applicationId) continue;
    acting.add(id);
    await requireMayHave(tx, given, { what: `the reactor ${id}`, createdBy: created_by });
  }
  for await (const row of eachProxy(tx)) {
    const { applicationId, definition } = openProxy(tx.keys, row);
    const runs = [definition.requestReactorId, definition.responseReactorId];
    if (applicationId !== given.applicationId && !runs.some((id) => id && acting.has(id))) continue;
    await requireMayHave(tx, given, { what: `the proxy ${row.id}`, createdBy: row.created_by });
  }
}

/**
 * The same before a reactor acts as another application, for the proxies that run it. The reactor is locked by now.
 * @throws {Fault} unprocessable, naming the proxy.
 */
export async function requireNoProxyGains(tx: TenantTransaction, reactorId: Uuid, given: GivenRights): Promise<void> {
  for await (const row of eachProxy(tx)) {
    const { requestReactorId, responseReactorId } = openProxy(tx.keys, row).definition;
    if (requestReactorId !== reactorId && responseReactorId !== reactorId) continue;
    await requireMayHave(tx, given, { what: `the proxy ${row.id}`, createdBy: row.created_by });
  }
}

interface Use {
  /** Such as "the proxy 01a2...". */
  readonly what: string;
  readonly createdBy: Uuid | null;
}

/** What a key created is of those who hold keys with the rights for it. */
async function requireMayHave(
  tx: TenantTransaction,
  { type, rights }: GivenRights,
  { what, createdBy }: Use,
): Promise<void> {
  if (!createdBy) return;
  const member = await tx.query(findMemberOfUser, createdBy);
  if (!member) return requirePresent(tx, createdBy, what);
  requireSealedRole(tx.keys, member);
  if (!isRole(member.role)) throw new Error("a member of unknown role is stored");
  const { containers } = openSealedRights(tx.keys, member);
  const exceeded = exceedsRole(member.role, containers, type, rights);
  if (!exceeded) return;
  throw new Fault(
    "unprocessable",
    `This gives ${exceeded} to ${what}, which a member with the role ${member.role} created and may not give as much. ` +
      "Use another application, or delete it and create it yourself.",
  );
}

/**
 * An author who is gone may give nothing, but knows the keys of proxies, and where they send. An application that is there
 * had the right to make code that acts as any other.
 */
async function requirePresent(tx: TenantTransaction, createdBy: Uuid, what: string): Promise<void> {
  if (await tx.query(readApplication, createdBy)) return;
  throw new Fault(
    "unprocessable",
    `This gives more rights to ${what}, whose author is no longer a member or application of this tenant and may still ` +
      "have its key. Use another application, or delete it and create it yourself.",
  );
}
