import type { Actor } from "../audit/actor.js";
import type { AuditContext, Via } from "../audit/audit-context.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Proof } from "../memory/memory-lease.js";
import type { Grant } from "./grant.js";
import type { ApplicationType } from "./permissions.js";
import type { TenantSettings } from "./tenant-settings.js";

/** The holder of a request's key. */
export interface Caller {
  readonly tenantId: TenantId;
  readonly application: { readonly id: Uuid; readonly type: ApplicationType };
  /** The application key of the request. Absent for sessions, and for code that acts as an application. */
  readonly keyId: Uuid | undefined;
  /** A session acts as its public application, with rights of its own. */
  readonly session: { readonly id: Uuid; readonly expiresAt: Date } | undefined;
  readonly grant: Grant;
  readonly settings: TenantSettings;
  /** The tenant's revision at which the caller was read. It guards every transaction of the caller. */
  readonly revision: number;
  /** What log rows say of the request. */
  readonly context: AuditContext;
}

/** A caller as it is known before its request, and remembered for others. */
export type KnownCaller = Omit<Caller, "context">;

/** What a key proves about its holder. Decides how much memory its request bodies may take. */
export function keyProofOf({ tenantId, application, session }: Caller): Proof {
  return { kind: "key", tenantId, applicationId: application.id, sessionId: session?.id };
}

/** In the log a session acts as its public application. */
export function actorOf(caller: Caller): Actor {
  const { application, keyId, session, context } = caller;
  return { id: application.id, type: "application", keyId: keyId ?? session?.id, context };
}

/** The same caller acting through a proxy or reactor. */
export function through(caller: Caller, via: Via): Caller {
  return { ...caller, context: { ...caller.context, via } };
}
