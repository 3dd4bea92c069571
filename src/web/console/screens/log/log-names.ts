import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import type { Log } from "#client/proto/cloakroom/v1/logs_pb.js";
import { MemberService } from "#client/proto/cloakroom/v1/members_pb.js";
import { ProxyService } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useRead } from "../../api/queries.js";
import { nameOf } from "../members/name-of.js";

/** Names by id, of what still exists and the role may list. */
export type LogNames = ReadonlyMap<string, string>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** What a list takes as ids at once. A page has fewer rows. */
const MAX_IDS = 50;

/** The names of who acted, and of the applications, proxies and reactors that they acted on or by. */
export function useLogNames(rows: readonly Log[]): LogNames {
  const mentions = rows.flatMap((row): (readonly [string | undefined, string | undefined])[] => [
    [row.actorType, row.actorId],
    [row.entityType, row.entityId],
    [row.viaType, row.viaId],
  ]);
  const idsOf = (wanted: string) => {
    const ids = mentions.flatMap(([type, id]) => (type === wanted && id !== undefined && UUID.test(id) ? [id] : []));
    return [...new Set(ids)].toSorted().slice(0, MAX_IDS);
  };
  const [application, user, proxy, reactor] = ["application", "user", "proxy", "reactor"].map(idsOf);
  const read = (ids: string[] = []) => [{ id: ids, size: MAX_IDS }, { enabled: ids.length > 0 }] as const;
  const applications = useRead(ApplicationService.method.listApplications, ...read(application));
  const proxies = useRead(ProxyService.method.listProxies, ...read(proxy));
  const reactors = useRead(ReactorService.method.listReactors, ...read(reactor));
  const members = useRead(
    MemberService.method.listMembers,
    { userId: user ?? [], size: MAX_IDS },
    { enabled: user !== undefined && user.length > 0 },
  );
  return new Map([
    ...[applications, proxies, reactors].flatMap(({ data }) =>
      (data?.data ?? []).map(({ id, name }) => [id, name] as const),
    ),
    ...(members.data?.data ?? []).map((member) => [member.user?.id ?? "", nameOf(member)] as const),
  ]);
}
