import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationService } from "../../gen/cloakroom/v1/invitations_pb.js";
import type { TenantId } from "../base/ids.js";
import { requireEmailAddress } from "../tenancy/email-address.js";
import {
  createInvitation,
  deleteInvitation,
  getInvitation,
  type Invitation,
  type InvitationStatus,
  listInvitations,
  resendInvitation,
} from "../tenancy/invitation.js";
import type { Keyring } from "../tenancy/keyring.js";
import { requireGivenRole } from "../tenancy/role.js";
import { type ServedMethod, serve } from "./call.js";
import { replayWhole } from "./replay.js";
import { pageRequest, showAudit, showPage, uuidOf } from "./show.js";

export function invitationService({ keyring }: { readonly keyring: Keyring }): ServedMethod[] {
  const { method } = InvitationService;
  return [
    serve(
      method.createInvitation,
      async (request, call) => {
        const { tenantId } = call.caller;
        const keys = await keyring.of(tenantId);
        const draft = {
          email: requireEmailAddress("email", request.email),
          role: requireGivenRole(request.role ?? "ADMIN"),
        };
        return call.transact(
          (tx) => createInvitation(tx, call.caller, keys, draft),
          (made) => show(tenantId, made),
        );
      },
      { replay: replayWhole("invitation") },
    ),
    serve(method.listInvitations, async (request, call) => {
      const { tenantId } = call.caller;
      const keys = await keyring.of(tenantId);
      const page = pageRequest(request);
      const status = statusOf(request.status);
      return call.list(
        (tx) => listInvitations(tx, call.caller, keys, { ...page, status }),
        (found) => ({ pagination: showPage(found, page), data: found.items.map((item) => show(tenantId, item)) }),
      );
    }),
    serve(method.getInvitation, async ({ id }, call) => {
      const { tenantId } = call.caller;
      const keys = await keyring.of(tenantId);
      return call.transact(
        (tx) => getInvitation(tx, call.caller, keys, uuidOf(id)),
        (found) => show(tenantId, found),
      );
    }),
    serve(
      method.resendInvitation,
      async ({ id }, call) => {
        const { tenantId } = call.caller;
        const keys = await keyring.of(tenantId);
        return call.transact(
          (tx) => resendInvitation(tx, call.caller, keys, uuidOf(id)),
          (sent) => show(tenantId, sent),
        );
      },
      { replay: replayWhole("invitation") },
    ),
    serve(method.deleteInvitation, async ({ id }, call) =>
      call.transact(
        (tx) => deleteInvitation(tx, call.caller, uuidOf(id)),
        () => ({}),
      ),
    ),
  ];
}

/** The protos have checked that it is one of the two. */
function statusOf(checked: string | undefined): InvitationStatus | undefined {
  return checked === "PENDING" || checked === "EXPIRED" ? checked : undefined;
}

function show(tenantId: TenantId, invitation: Invitation) {
  const { id, email, status, role, expiresAt } = invitation;
  return {
    ...{ id, tenantId, email, status, role },
    expiresAt: timestampFromDate(expiresAt),
    ...showAudit(invitation),
  };
}
