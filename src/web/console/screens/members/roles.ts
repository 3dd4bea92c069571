import { MemberService } from "#client/proto/cloakroom/v1/members_pb.js";
import { useRead } from "../../api/queries.js";

export function useRoleNames(): readonly string[] {
  const roles = useRead(MemberService.method.listRoles, {});
  return (roles.data?.data ?? []).map(({ name }) => name).filter((name) => name !== "OWNER");
}
