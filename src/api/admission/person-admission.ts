import type { DescMethod } from "@bufbuild/protobuf";
import { AuthMode } from "../../../gen/cloakroom/v1/options_pb.js";
import { type Caller, callingPerson } from "../../access/caller.js";
import { type Denied, deniedWith, recordDenial } from "../../access/refusal.js";
import type { Role } from "../../access/role.js";
import { secondFactorRequired } from "../../access/second-factor.js";
import { Fault, invalid } from "../../base/fault.js";
import type { PersonAuthenticator } from "../../people/person-authenticator.js";
import { methodPolicy } from "../../services/method-policy.js";
import { type MethodRoles, operationName, readMethodRoles } from "../../services/method-roles.js";
import type { Database } from "../../store/database.js";
import type { RequestHead } from "../request/request-head.js";
import type { Credential } from "./credential.js";

interface PersonParts {
  readonly people: PersonAuthenticator;
  readonly database: Database;
}

/**
 * Authentication of people for one method, and the check of their role. The admission of a method that begins a sign-in
 * has no caller.
 */
export function admitPerson(
  desc: DescMethod,
  { people, database }: PersonParts,
): (head: RequestHead, credential: Credential) => Promise<Caller | undefined> {
  const cell = readMethodRoles(desc);
  const isSigningIn = methodPolicy(desc).auth === AuthMode.SIGNING_IN;
  return async ({ visit, audit, memory }, credential) => {
    if (credential.kind === "key" && credential.text !== undefined) {
      throw invalid("BT-API-KEY", "must not be sent: this operation is for people who are signed in");
    }
    if (!visit)
      throw new Fault("unauthenticated", "This operation is for people who are signed in; an API key cannot call it.");
    visit.requireOwnPage();
    if (isSigningIn) {
      memory.prove({ kind: "sign_in" });
      return undefined;
    }
    const caller = await people.authenticate(credential.text ?? "", visit.isIdle, audit.context);
    const refused = refusal(desc, cell, caller);
    if (refused) throw await recordDenial(database, refused);
    return caller;
  };
}

function refusal(desc: DescMethod, { roles, needsSecondFactor }: MethodRoles, caller: Caller): Denied | undefined {
  const { role, memberId, secondFactorUntil } = callingPerson(caller);
  const operation = operationName(desc);
  const isAllowed = roles.includes(role);
  if (isAllowed && (!needsSecondFactor || secondFactorUntil !== undefined)) return undefined;
  const fault = isAllowed
    ? secondFactorRequired(operation)
    : new Fault("permission_denied", `Your role ${role} may not call ${operation}; ${whoMay(roles)}.`);
  return deniedWith(caller, fault, operation, { type: "member", id: memberId });
}

function whoMay(roles: readonly Role[]): string {
  if (roles.length === 0) return "only the key of an application may";
  const last = roles.at(-1);
  return roles.length === 1 ? `${last} may` : `${roles.slice(0, -1).join(", ")} and ${last} may`;
}
