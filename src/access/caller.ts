import type { Actor } from "../audit/actor.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Proof } from "../memory/memory-lease.js";
import type { Grant } from "./grant.js";
import type { ApplicationType } from "./permissions.js";
import type { TenantSettings } from "./tenant-settings.js";

/** Whoever holds the key that a request came with. */
export interface Caller {
  readonly tenantId: TenantId;
  readonly application: { readonly id: Uuid; readonly type: ApplicationType };
  /** The application key that the request came with. Absent for sessions, and for code that acts as an application. */
  readonly keyId: Uuid | undefined;
  /** A session acts as its public application, with rights of its own. */
  readonly session: { readonly id: Uuid; readonly expiresAt: Date } | undefined;
  readonly grant: Grant;
  readonly settings: TenantSettings;
  /** The tenant's revision that all of this was read at: every transaction of the caller is guarded by it. */
  readonly revision: number;
}

/** What a key proves of its holder, for the memory that its bodies may take. */
export function keyProofOf({ tenantId, application, session }: Caller): Proof {
  return { kind: "key", tenantId, applicationId: application.id, sessionId: session?.id };
}

/** A session acts in the log as its public application. */
export function actorOf(caller: Caller): Actor {
  return { id: caller.application.id, type: "application" };
}
