import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type AccessDraft,
  type AccessStepSchema,
  type ExplainAccessRequest,
  type ExplainedAccessSchema,
  PermissionService,
} from "../../gen/cloakroom/v1/applications_pb.js";
import type { AccessStep } from "../access/access-explanation.js";
import { parseRights } from "../access/access-rule.js";
import type { Application } from "../access/application.js";
import { getApplication, listApplications } from "../access/applications.js";
import { actorOf, type Caller } from "../access/caller.js";
import { parseContainer } from "../access/container.js";
import { type AccessTarget, Grant } from "../access/grant.js";
import { isApplicationType, isTokenPermission, type TokenPermission } from "../access/permissions.js";
import { ROLES } from "../access/role.js";
import { grantOfRole } from "../access/role-rights.js";
import { invalid } from "../base/fault.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { OrdinaryTransaction } from "../store/transactions/transaction.js";
import type { Keyring } from "../tenancy/keyring.js";
import { accessTargetOf } from "../tokens/place.js";
import { ruleDraft, showRule } from "./access-rules.js";
import { type ServedMethod, serve } from "./call.js";
import { pageRequest, showPage, uuidOf } from "./show.js";

type ShownAccess = MessageInitShape<typeof ExplainedAccessSchema>;

/** Explains rights by {@link Grant} itself: there is no second implementation that could disagree. */
export function explainAccess(keyring: Keyring): ServedMethod {
  return serve(PermissionService.method.explainAccess, async (request, call) => {
    const permission = permissionOf(request);
    const draft = request.draft && draftGrant(request.draft);
    const containers = request.containers.map((path, index) => parseContainer(path, `containers[${index}]`));
    if ((request.tokenId === undefined) === (containers.length === 0)) {
      throw invalid("token_id", "must be given, or containers, and not both");
    }
    const keys = await keyring.of(call.caller.tenantId);
    const page = pageRequest(request);
    return call.list(
      async (tx) => {
        const place = await placeOf(tx, call.caller, request.tokenId, containers);
        const found = draft ? undefined : await applicationsOf(tx, keys, call.caller, request, page);
        return { place, found };
      },
      ({ place, found }) => ({
        ...(found ? { pagination: showPage(found, page) } : {}),
        data: draft
          ? [{ keys: 0, ...explained(draft, permission, place) }]
          : (found?.items ?? []).map((application) => ofApplication(application, permission, place)),
        roles: ROLES.map((role) => ({ role, ...shown(grantOfRole(role).transformFor(permission, place)) })),
      }),
    );
  });
}

function permissionOf({ permission = "token:read" }: ExplainAccessRequest): TokenPermission {
  if (!isTokenPermission(permission)) throw invalid("permission", "must be a permission on tokens, such as token:read");
  return permission;
}

/** @throws {Fault} validation_failed, with fields of the draft. */
function draftGrant({ type, permissions, rules }: AccessDraft): Grant {
  if (!isApplicationType(type)) throw invalid("draft.type", "must be private, public or management");
  return new Grant(parseRights(type, permissions, rules.map(ruleDraft)));
}

async function placeOf(
  tx: OrdinaryTransaction,
  caller: Caller,
  tokenId: string | undefined,
  containers: AccessTarget["containers"],
): Promise<AccessTarget> {
  // Conditions on ids are a matter of sessions: an id that no token has meets none of them.
  return tokenId === undefined ? { id: "", containers } : accessTargetOf(tx, caller, tokenId);
}

async function applicationsOf(
  tx: OrdinaryTransaction,
  keys: TenantKeys,
  caller: Caller,
  { applicationId }: ExplainAccessRequest,
  page: ReturnType<typeof pageRequest>,
): Promise<{ readonly items: readonly Application[]; readonly total: number }> {
  if (applicationId === undefined) {
    return listApplications(tx, keys, actorOf(caller), { ...page, ids: [], types: [] });
  }
  return { items: [await getApplication(tx, keys, actorOf(caller), uuidOf(applicationId))], total: 1 };
}

function ofApplication(application: Application, permission: TokenPermission, place: AccessTarget): ShownAccess {
  const { id, name, type, keys } = application;
  return { applicationId: id, name, type, keys: keys.length, ...explained(new Grant(application), permission, place) };
}

function explained(grant: Grant, permission: TokenPermission, place: AccessTarget) {
  const { transform, layers } = grant.explain(permission, place);
  return { ...shown(transform), steps: layers.flat().map(showStep) };
}

function shown(transform: string | undefined) {
  return transform === undefined ? {} : { transform };
}

function showStep({ rule, outcome }: AccessStep): MessageInitShape<typeof AccessStepSchema> {
  return { ...(rule ? { rule: showRule(rule) } : {}), outcome };
}
