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
import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { parseContainer } from "../access/container.js";
import { type AccessTarget, Grant } from "../access/grant.js";
import { isApplicationType, isTokenPermission, type TokenPermission } from "../access/permissions.js";
import { ROLES } from "../access/role.js";
import { grantOfRole } from "../access/role-rights.js";
import { invalid } from "../base/fault.js";
import { tokenAccessTarget } from "../tokens/access-target.js";
import { ruleDraft, showRule } from "./access-rules.js";
import { type ServedMethod, serve } from "./call.js";
import { pageRequest, showPage, storedUuid } from "./show.js";

type ShownAccess = MessageInitShape<typeof ExplainedAccessSchema>;

/** Explains rights by {@link Grant} itself: there is no second implementation that could disagree. */
export function explainAccess(): ServedMethod {
  return serve(PermissionService.method.explainAccess, async (request, call) => {
    const permission = permissionOf(request);
    const draft = request.draft && draftGrant(request.draft);
    const containers = request.containers.map((path, index) => parseContainer(path, `containers[${index}]`));
    if ((request.tokenId === undefined) === (containers.length === 0)) {
      throw invalid("token_id", "must be given, or containers, and not both");
    }
    const page = pageRequest(request);
    return call.list(
      async (tx) => {
        const target = await accessTarget(tx, request.tokenId, containers);
        const found = draft ? undefined : await applicationsOf(tx, request, page);
        return { target, found };
      },
      ({ target, found }) => ({
        ...(found ? { pagination: showPage(found, page) } : {}),
        data: draft
          ? [{ keys: 0, ...explained(draft, permission, target) }]
          : (found?.items ?? []).map((application) => ofApplication(application, permission, target)),
        roles: ROLES.map((role) => ({ role, ...shown(grantOfRole(role).transformFor(permission, target)) })),
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

async function accessTarget(
  tx: OrdinaryCallerTransaction,
  tokenId: string | undefined,
  containers: AccessTarget["containers"],
): Promise<AccessTarget> {
  // Conditions on ids are a matter of sessions: an id that no token has meets none of them.
  return tokenId === undefined ? { id: "", containers } : tokenAccessTarget(tx, tokenId);
}

async function applicationsOf(
  tx: OrdinaryCallerTransaction,
  { applicationId }: ExplainAccessRequest,
  page: ReturnType<typeof pageRequest>,
): Promise<{ readonly items: readonly Application[]; readonly total: number }> {
  if (applicationId === undefined) {
    return listApplications(tx, { ...page, ids: [], types: [], name: undefined, isByName: false });
  }
  return { items: [await getApplication(tx, storedUuid(applicationId))], total: 1 };
}

function ofApplication(application: Application, permission: TokenPermission, target: AccessTarget): ShownAccess {
  const { id, name, type, keys } = application;
  return { applicationId: id, name, type, keys: keys.length, ...explained(new Grant(application), permission, target) };
}

function explained(grant: Grant, permission: TokenPermission, target: AccessTarget) {
  const { transform, layers } = grant.explain(permission, target);
  return { ...shown(transform), steps: layers.flat().map(showStep) };
}

function shown(transform: string | undefined) {
  return transform === undefined ? {} : { transform };
}

function showStep({ rule, outcome }: AccessStep): MessageInitShape<typeof AccessStepSchema> {
  return { ...(rule ? { rule: showRule(rule) } : {}), outcome };
}
