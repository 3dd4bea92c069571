import type { AccessRights } from "../access/access-rule.js";
import type { ContainerPath } from "../access/container.js";
import type { ApplicationType } from "../access/permissions.js";
import { powersInRole } from "../access/power.js";
import { isRole, type Role } from "../access/role.js";
import { exceedsRole } from "../access/role-rights.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { readApplication } from "../store/access/applications.js";
import type { ProxyRow } from "../store/functions/proxies.js";
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
  const gain = rightsAsGain(given);
  const acting = new Set<Uuid>();
  for await (const { id, application_id, created_by } of eachReactor(tx)) {
    if (application_id !== given.applicationId) continue;
    acting.add(id);
    await requireMayHave(tx, gain, { what: `the reactor ${id}`, createdBy: created_by });
  }
  for await (const row of eachProxy(tx)) {
    const { applicationId, definition } = openProxy(tx.keys, row);
    const runs = [definition.requestReactorId, definition.responseReactorId];
    if (applicationId !== given.applicationId && !runs.some((id) => id && acting.has(id))) continue;
    await requireMayHave(tx, gain, { what: `the proxy ${row.id}`, createdBy: row.created_by });
  }
}

/**
 * The same before a reactor acts as another application, for the proxies that run it. The reactor is locked by now.
 * @throws {Fault} unprocessable, naming the proxy.
 */
export async function requireNoProxyGains(tx: TenantTransaction, reactorId: Uuid, given: GivenRights): Promise<void> {
  const gain = rightsAsGain(given);
  for await (const { id, created_by } of proxiesRunning(tx, reactorId)) {
    await requireMayHave(tx, gain, { what: `the proxy ${id}`, createdBy: created_by });
  }
}

/**
 * The same before a reactor gets another configuration: its code may return what it is configured with, and a proxy sends
 * that where the proxy's author says. The reactor's own author could change the code to return it.
 * @throws {Fault} unprocessable, naming the proxy.
 */
export async function requireNoProxyReads(
  tx: TenantTransaction,
  { id: reactorId, createdBy: author }: { readonly id: Uuid; readonly createdBy: Uuid | null },
): Promise<void> {
  for await (const { id, created_by } of proxiesRunning(tx, reactorId)) {
    if (created_by !== author)
      await requireMayHave(tx, CONFIGURATION, { what: `the proxy ${id}`, createdBy: created_by });
  }
}

async function* proxiesRunning(tx: TenantTransaction, reactorId: Uuid): AsyncGenerator<ProxyRow> {
  for await (const row of eachProxy(tx)) {
    const { requestReactorId, responseReactorId } = openProxy(tx.keys, row).definition;
    if (requestReactorId === reactorId || responseReactorId === reactorId) yield row;
  }
}

/** What code gets, and its author with it. */
interface Gain {
  /** In errors, after "This gives". */
  readonly name: string;
  /** The beginning of a sentence that says what to do. */
  readonly advice: string;
  /** What of it a member of a role may not have; undefined: nothing. */
  beyond(role: Role, containers: readonly ContainerPath[]): string | undefined;
}

function rightsAsGain({ type, rights }: GivenRights): Gain {
  return {
    name: "more rights",
    advice: "Use another application",
    beyond: (role, containers) => exceedsRole(role, containers, type, rights),
  };
}

const OWN_CONFIGURATION = "the reactor's configuration";
const CONFIGURATION: Gain = {
  name: OWN_CONFIGURATION,
  advice: "Use another reactor",
  beyond: (role) => (powersInRole(role).includes("administer") ? undefined : OWN_CONFIGURATION),
};

interface Use {
  /** Such as "the proxy 01a2...". */
  readonly what: string;
  readonly createdBy: Uuid | null;
}

/** What a key created is of those who hold keys with the rights for it. */
async function requireMayHave(tx: TenantTransaction, gain: Gain, { what, createdBy }: Use): Promise<void> {
  if (!createdBy) return;
  const member = await tx.query(findMemberOfUser, createdBy);
  if (!member) return requirePresent(tx, gain, { what, createdBy });
  requireSealedRole(tx.keys, member);
  if (!isRole(member.role)) throw new Error("a member of unknown role is stored");
  const { containers } = openSealedRights(tx.keys, member);
  const exceeded = gain.beyond(member.role, containers);
  if (!exceeded) return;
  throw new Fault(
    "unprocessable",
    `This gives ${exceeded} to ${what}, which a member with the role ${member.role} created and may not give as much. ` +
      `${gain.advice}, or delete it and create it yourself.`,
  );
}

/**
 * An author who is gone may give nothing, but knows the keys of proxies, and where they send. An application that is there
 * had the right to make code that acts as any other.
 */
async function requirePresent(
  tx: TenantTransaction,
  { name, advice }: Gain,
  { what, createdBy }: { readonly what: string; readonly createdBy: Uuid },
): Promise<void> {
  if (await tx.query(readApplication, createdBy)) return;
  throw new Fault(
    "unprocessable",
    `This gives ${name} to ${what}, whose author is no longer a member or application of this tenant and may still ` +
      `have its key. ${advice}, or delete it and create it yourself.`,
  );
}
