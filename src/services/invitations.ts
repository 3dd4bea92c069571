import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationService } from "../../gen/cloakroom/v1/invitations_pb.js";
import { withContainers } from "../access/assigned-containers.js";
import type { Caller } from "../access/caller.js";
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
import { requireGivenRole } from "../tenancy/role.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems } from "./show.js";

export function invitationService(): ServedMethod[] {
  const { method } = InvitationService;
  return [
    serve(
      method.createInvitation,
      async (request, call) => {
        const draft = {
          email: requireEmailAddress("email", request.email),
          ...withContainers(requireGivenRole(request.role ?? "ADMIN"), request.containers),
        };
        return call.transact((tx) => createInvitation(tx, draft), show);
      },
      { replay: replayWhole("invitation") },
    ),
    serve(method.listInvitations, async (request, call) => {
      const page = pageRequest(request);
      const status = statusOf(request.status);
      return call.list((tx) => listInvitations(tx, { ...page, status }), showItems(page, show));
    }),
    serveById(method.getInvitation, getInvitation, show),
    serveById(method.resendInvitation, resendInvitation, show, { replay: replayWhole("invitation") }),
    serveById(method.deleteInvitation, deleteInvitation, showNothing),
  ];
}

/** The protos have checked that it is one of the two. */
function statusOf(checked: string | undefined): InvitationStatus | undefined {
  return checked === "PENDING" || checked === "EXPIRED" ? checked : undefined;
}

function show(invitation: Invitation, { tenantId }: Caller) {
  const { id, email, status, role, containers, expiresAt } = invitation;
  return {
    id,
    tenantId,
    email,
    status,
    role,
    containers: [...containers],
    expiresAt: timestampFromDate(expiresAt),
    ...showAudit(invitation),
  };
}
