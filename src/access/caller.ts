import type { Actor } from "../audit/actor.js";
import type { AuditContext, Via } from "../audit/audit-context.js";
import type { Party } from "../base/caller-turns.js";
import { Fault } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { Proof } from "../memory/request-memory.js";
import type { ContainerPath } from "./container.js";
import type { Grant } from "./grant.js";
import type { Pages } from "./pages.js";
import type { ApplicationType } from "./permissions.js";
import type { Role } from "./role.js";
import type { TenantSettings } from "./tenant-settings.js";

export interface ApplicationPrincipal {
  readonly kind: "application";
  readonly id: Uuid;
  readonly type: ApplicationType;
  /** What its pages may do. Absent: it has none. */
  readonly pages?: Pages;
}

/** The frame of a hosted field, as a request proves it by its pass. A page cannot read a pass. */
export interface Frame {
  /** The id of the pass, for as long as the document of the frame is open. */
  readonly pass: string;
  /** The origin of the page around it. */
  readonly origin: string;
}

export interface SessionFrame {
  readonly pass: string;
  /** The network of its client. Undefined where the server records no addresses. */
  readonly network: string | undefined;
}

export interface PersonPrincipal {
  readonly kind: "person";
  readonly memberId: Uuid;
  readonly userId: Uuid;
  readonly role: Role;
  /** Where a DEVELOPER may give applications more than token:create. */
  readonly containers: readonly ContainerPath[];
  readonly signInId: Uuid;
  /** Until when the last proof of a second factor counts. Absent: no proof counts. */
  readonly secondFactorUntil: Date | undefined;
}

export interface CallerSession {
  readonly id: Uuid;
  /** It works in this frame only. */
  readonly frame?: SessionFrame;
}

export interface Caller {
  readonly tenantId: TenantId;
  readonly principal: ApplicationPrincipal | PersonPrincipal;
  /** The application key of the request. Absent for people, sessions, and code that acts as an application. */
  readonly keyId: Uuid | undefined;
  /** From then on its key, session or sign-in is refused, unless it was extended meanwhile. Absent: it has no end. */
  readonly endsAt?: Date;
  /** A session acts as its public application, with rights of its own. */
  readonly session: CallerSession | undefined;
  /** The frame that sends the request: its page must not learn what is typed into its fields. */
  readonly frame?: Frame;
  readonly grant: Grant;
  readonly settings: TenantSettings;
  /** The types of events that a webhook of the tenant asks for, at the same revision. */
  readonly eventTypes: readonly string[];
  /** The tenant's revision at which the caller was read. It guards every transaction of the caller. */
  readonly revision: number;
  readonly context: AuditContext;
}

/** A caller as it is known before its request, and remembered for others. */
export type CachedCaller = Omit<Caller, "context" | "frame">;

/** Whether the caller's key, session or sign-in has ended, as far as it was known when the caller was read. */
export function hasEnded({ endsAt }: Pick<Caller, "endsAt">, now: number): boolean {
  return endsAt !== undefined && endsAt.getTime() <= now;
}

/** What a credential proves about its holder. Decides how much memory its request bodies may take. */
export function callerKeyProof(caller: Caller): Proof {
  const { tenantId, session } = caller;
  return {
    kind: "key",
    tenantId,
    applicationId: loggedActor(caller).id,
    sessionId: session?.id,
    party: callerParty(caller),
  };
}

/** The keys of public applications, and of their sessions, are in pages. */
export function callerParty({ principal }: Pick<Caller, "principal">): Party {
  return principal.kind === "application" && principal.type === "public" ? "pages" : "back end";
}

/** In the log a session acts as its public application, and a person as a user by a sign-in. */
export function loggedActor({ principal, keyId, session, context }: Caller): Actor {
  return principal.kind === "person"
    ? { id: principal.userId, type: "user", keyId: principal.signInId, context }
    : { id: principal.id, type: "application", keyId: keyId ?? session?.id, context };
}

export function actingThrough(caller: Caller, via: Via): Caller {
  return { ...caller, context: { ...caller.context, via } };
}

export function sendingTo(caller: Caller, destinationHost: string | undefined): Caller {
  return { ...caller, context: { ...caller.context, destinationHost } };
}

/** The application of a caller. @throws {Fault} permission_denied for a person. */
export function callingApplication({ principal }: Pick<Caller, "principal">): ApplicationPrincipal {
  if (principal.kind === "application") return principal;
  throw new Fault("permission_denied", "Only the key of an application may do this.");
}

/** The person of a caller. @throws {Fault} permission_denied for the key of an application. */
export function callingPerson({ principal }: Pick<Caller, "principal">): PersonPrincipal {
  if (principal.kind === "person") return principal;
  throw new Fault("permission_denied", "Only a person who is signed in may do this.");
}
