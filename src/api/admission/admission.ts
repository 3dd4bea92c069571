import type { DescMethod } from "@bufbuild/protobuf";
import { AuthMode, PageAccess as PagePolicy } from "../../../gen/cloakroom/v1/options_pb.js";
import type { Authenticator } from "../../access/authenticate.js";
import { type Caller, callerKeyProof, callerParty } from "../../access/caller.js";
import type { FramePasses } from "../../access/frame-passes.js";
import { needsNoPass, type PageAccess, requirePageAccess } from "../../access/page-access.js";
import { isPermission, mayHold, type Permission } from "../../access/permissions.js";
import { type Denied, deniedWith, recordDenial, recordingDenials } from "../../access/refusal.js";
import { Fault, permissionDenied } from "../../base/fault.js";
import type { Uuid } from "../../base/ids.js";
import type { PersonAuthenticator } from "../../people/person-authenticator.js";
import { methodPolicy } from "../../services/method-policy.js";
import type { Database } from "../../store/database.js";
import type { RequestHead } from "../request/request-head.js";
import { type Credential, readCredential } from "./credential.js";
import { admitPerson } from "./person-admission.js";

export interface Admission {
  readonly head: RequestHead;
  readonly caller: Caller | undefined;
  /** Reads the caller's rights again: they changed since. */
  renew(): Promise<Caller | undefined>;
}

export interface AdmissionParts {
  readonly authenticator: Authenticator;
  readonly people: PersonAuthenticator;
  readonly database: Database;
  readonly framePasses: Pick<FramePasses, "frameOf">;
}

/** Sent by frames of hosted fields: see {@link FramePasses}. */
const FRAME_PASS_HEADER = "cloakroom-frame";

/** Authentication and permission of one method, before the body is read. */
export interface MethodAdmission {
  /** No promise where the caller's rights are cached: its steps would cost as much as the checks. */
  admit(head: RequestHead): Promise<Admission> | Admission;
  /** The same for a caller that is known already: code that acts as an application. */
  admitCaller(head: RequestHead, caller: Caller, renew: Admission["renew"]): Promise<Admission>;
}

export function createAdmission(desc: DescMethod, parts: AdmissionParts): MethodAdmission {
  const { authenticator, database } = parts;
  const policy = methodPolicy(desc);
  const missingFrom = permissionCheck(policy.requires.map(asPermission), policy.requiresOneOf.map(asPermission));
  const personOf = admitPerson(desc, parts);
  const pages = PAGE_ACCESS[policy.pages];
  const takesKeys = policy.auth === AuthMode.UNSPECIFIED || policy.auth === AuthMode.KEY;

  const authorizeKey = async (head: RequestHead, key: string | undefined): Promise<Caller | undefined> => {
    if (policy.auth === AuthMode.OPTIONAL && !key) return undefined;
    const caller = await callerOfKey(parts, head, key, pages);
    if (policy.auth === AuthMode.OPTIONAL) return caller;
    if (missingFrom(caller) === undefined) {
      // Also of what needs no permission: such a session has no access at all.
      const unauthorized = caller.grant.isEmpty ? caller.session : undefined;
      if (unauthorized) throw await recordDenial(database, unauthorizedSession(caller, unauthorized.id));
      return caller;
    }
    // Cached rights may be stale and denials are not revision-checked, so reload before denying.
    authenticator.forget(key ?? "");
    const current = await callerOfKey(parts, head, key, pages);
    const missing = missingFrom(current);
    if (missing) throw await recordDenial(database, lacking(current, missing));
    return current;
  };

  const authorize = async (head: RequestHead, credential: Credential): Promise<Caller | undefined> => {
    if (policy.auth === AuthMode.PERSON || policy.auth === AuthMode.SIGNING_IN || credential.kind === "sign_in") {
      const person = await personOf(head, credential);
      if (person) await recordingDenials(database, async () => requireFitReason(head, person));
      return person;
    }
    return authorizeKey(head, credential.text);
  };

  /** The caller, where {@link authorize} would return it without a look-up or a log row. */
  const findAuthorized = (head: RequestHead, credential: Credential): Caller | undefined => {
    if (!takesKeys || credential.kind !== "key" || !credential.text) return undefined;
    if (head.header(FRAME_PASS_HEADER) !== undefined || head.audit.badReason) return undefined;
    const caller = authenticator.knownHolder(credential.text, head.audit.context);
    const isAuthorized = caller && !caller.grant.isEmpty && needsNoPass(caller, pages) && !missingFrom(caller);
    return isAuthorized ? caller : undefined;
  };

  return {
    admit(head) {
      const credential = readCredential(head);
      const renew = () => {
        if (credential.kind === "key") authenticator.forget(credential.text ?? "");
        return authorize(head, credential);
      };
      const known = findAuthorized(head, credential);
      if (known) return enter(database, { head, caller: known, renew });
      return authorize(head, credential).then((caller) => enter(database, { head, caller, renew }));
    },
    admitCaller: (head, caller, renew) => admitApplication(database, { head, caller, renew }, pages, missingFrom),
  };
}

/** The last step of an admission. @throws {Fault} unavailable while the caller's tenant overloads the server. */
function enter(database: Database, admission: Admission): Admission {
  const { head, caller } = admission;
  if (caller) {
    database.shared.requireRoom(caller.tenantId, callerParty(caller));
    head.memory.prove(callerKeyProof(caller));
  }
  return admission;
}

/** Admits code that acts as an application: it is no frame. */
async function admitApplication(
  database: Database,
  { head, caller, renew }: Admission & { readonly caller: Caller },
  pages: PageAccess,
  missingFrom: (caller: Caller) => Permission | undefined,
): Promise<Admission> {
  const requirePages = (current: Caller) =>
    recordingDenials(database, async () => requirePageAccess(current, undefined, pages));
  const renewed = async () => {
    const current = await renew();
    if (current) await requirePages(current);
    const missing = current && missingFrom(current);
    if (current && missing) throw await recordDenial(database, lacking(current, missing));
    return current;
  };
  await requirePages(caller);
  // As above: reload before denying.
  const current = missingFrom(caller) === undefined ? caller : await renewed();
  return { head, caller: current, renew: renewed };
}

const PAGE_ACCESS: Readonly<Record<PagePolicy, PageAccess>> = {
  [PagePolicy.UNSPECIFIED]: "none",
  [PagePolicy.KEY]: "key",
  [PagePolicy.FRAME]: "frame",
  [PagePolicy.FRAME_SESSION]: "frame_session",
};

async function callerOfKey(
  { authenticator, database, framePasses }: AdmissionParts,
  head: RequestHead,
  key: string | undefined,
  pages: PageAccess,
): Promise<Caller> {
  const pass = head.header(FRAME_PASS_HEADER);
  return recordingDenials(database, () =>
    authenticator.judge(key, head.audit.context, async (holder) => {
      const frame = pass === undefined ? undefined : await framePasses.frameOf(pass, key, holder);
      if (frame) requireSameOrigin(head, holder);
      requirePageAccess(holder, frame, pages);
      requireFitReason(head, holder);
      return frame ? { ...holder, frame } : holder;
    }),
  );
}

/**
 * A frame calls the origin that it was loaded from. Somebody may load its document outside of a browser and give the pass
 * to a page, which then calls from its own origin. Browsers of before 2023 do not say from where a request comes.
 */
function requireSameOrigin(head: RequestHead, caller: Caller): void {
  const site = head.header("sec-fetch-site");
  if (site === undefined || site === "same-origin") return;
  const fault = new Fault("permission_denied", "The pass of a hosted field works in its own frame only.");
  throw deniedWith(caller, fault, "frame");
}

/** @throws {Denied} reason_invalid for a reason that cannot be accepted. */
function requireFitReason({ audit: { badReason } }: RequestHead, caller: Caller): void {
  if (badReason) throw deniedWith(caller, badReason, "reason");
}

/** Finds a permission that a caller lacks: any of `all`, or the first of `oneOf` where it holds none of these. */
function permissionCheck(
  all: readonly Permission[],
  oneOf: readonly Permission[],
): (caller: Caller) => Permission | undefined {
  return ({ grant }) =>
    all.find((permission) => !grant.holds(permission)) ??
    (oneOf.some((permission) => grant.holds(permission)) ? undefined : oneOf[0]);
}

/** A session asked for something before it was authorized. */
function unauthorizedSession(caller: Caller, id: Uuid): Denied {
  const fault = new Fault("permission_denied", "The session is not authorized.");
  return deniedWith(caller, fault, "not authorized", { type: "session", id });
}

/** A known key asked for what it may not do at all. */
function lacking(caller: Caller, permission: Permission): Denied {
  const fault = permissionDenied(permission, hintFor(caller, permission));
  return deniedWith(caller, fault, permission);
}

/** Which key to use instead, where the type of the caller's application rules the permission out. */
function hintFor({ principal, session }: Caller, permission: Permission): string | undefined {
  if (session || principal.kind !== "application" || mayHold(principal.type, permission)) return undefined;
  if (principal.type === "management") {
    return "a management key manages applications and never touches tokens. Use the key of a private or public application.";
  }
  return mayHold("management", permission) ? "only the key of a management application can hold it." : undefined;
}

function asPermission(text: string): Permission {
  if (!isPermission(text)) throw new Error(`the protos require an unknown permission: ${text}`);
  return text;
}
