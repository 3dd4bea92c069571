import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { MemberService } from "../../gen/cloakroom/v1/members_pb.js";
import type { TenantId } from "../base/ids.js";
import type { Keyring } from "../tenancy/keyring.js";
import { deleteMember, getOwner, listMembers, type Member, updateMember } from "../tenancy/member.js";
import { namesOfRoles } from "../tenancy/role.js";
import { type ServedMethod, serve } from "./call.js";
import { replayWhole } from "./replay.js";
import { pageRequest, showAudit, showPage, uuidOf } from "./show.js";

export function memberService({ keyring }: { readonly keyring: Keyring }): ServedMethod[] {
  const { method } = MemberService;
  return [
    serve(method.listMembers, async (request, call) => {
      const { tenantId } = call.caller;
      const keys = await keyring.of(tenantId);
      const page = pageRequest(request);
      return call.list(
        (tx) => listMembers(tx, call.caller, keys, { ...page, userIds: request.userId.map(uuidOf) }),
        (found) => ({ pagination: showPage(found, page), data: found.items.map((item) => show(tenantId, item)) }),
      );
    }),
    serve(
      method.updateMember,
      async ({ id, role }, call) => {
        const { tenantId } = call.caller;
        const keys = await keyring.of(tenantId);
        return call.transact(
          (tx) => updateMember(tx, call.caller, keys, uuidOf(id), role),
          (changed) => show(tenantId, changed),
        );
      },
      { replay: replayWhole("member") },
    ),
    serve(method.deleteMember, async ({ id }, call) =>
      call.transact(
        (tx) => deleteMember(tx, call.caller, uuidOf(id)),
        () => ({}),
      ),
    ),
    serve(method.getOwner, async (_request, call) => {
      const { tenantId } = call.caller;
      const keys = await keyring.of(tenantId);
      return call.transact(
        (tx) => getOwner(tx, call.caller, keys),
        (owner) => show(tenantId, owner),
      );
    }),
    serve(method.listRoles, async (_request, call) =>
      call.transact(
        (tx) => namesOfRoles(tx, call.caller),
        (names) => ({ data: names.map((name) => ({ name })) }),
      ),
    ),
  ];
}

function show(tenantId: TenantId, member: Member) {
  const { id, userId, role, profile } = member;
  return {
    ...{ id, tenantId, role },
    user: { id: userId, ...profile },
    ...showAudit(member),
    createdDate: timestampFromDate(member.createdAt),
  };
}
