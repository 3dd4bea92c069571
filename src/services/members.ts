import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { MemberService } from "../../gen/cloakroom/v1/members_pb.js";
import type { Caller } from "../access/caller.js";
import { deleteMember, getOwner, listMembers, type Member, updateMember } from "../tenancy/member.js";
import { namesOfRoles } from "../tenancy/role.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems, storedUuid } from "./show.js";

export function memberService(): ServedMethod[] {
  const { method } = MemberService;
  return [
    serve(method.listMembers, async (request, call) => {
      const page = pageRequest(request);
      return call.list(
        (tx) => listMembers(tx, { ...page, userIds: request.userId.map(storedUuid) }),
        showItems(page, show),
      );
    }),
    serve(
      method.updateMember,
      async ({ id, role, containers }, call) =>
        call.transact((tx) => updateMember(tx, storedUuid(id), { role, containers }), show),
      { replay: replayWhole("member") },
    ),
    serveById(method.deleteMember, deleteMember, showNothing),
    serve(method.getOwner, async (_request, call) => call.transact((tx) => getOwner(tx), show)),
    serve(method.listRoles, async (_request, call) =>
      call.transact(
        (tx) => namesOfRoles(tx),
        (names) => ({ data: names.map((name) => ({ name })) }),
      ),
    ),
  ];
}

function show(member: Member, { tenantId }: Caller) {
  const { id, userId, role, containers, profile } = member;
  return {
    id,
    tenantId,
    role,
    containers: [...containers],
    user: { id: userId, ...profile },
    ...showAudit(member),
    createdDate: timestampFromDate(member.createdAt),
  };
}
