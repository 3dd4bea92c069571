import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { MemberService } from "#client/proto/cloakroom/v1/members_pb.js";
import { ProxyService } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useRead } from "../api/queries.js";
import { memberName } from "./members/member-name.js";

/** A name, and what has it: an application may have a member's address as its name. */
interface Named {
  readonly kind: "application" | "user" | "proxy" | "reactor";
  readonly name: string;
}

/** Names by id, of what still exists and the role may list. */
export type Names = ReadonlyMap<string, Named>;

/** Something with a name: what it is, as the log says, and its id. Other kinds have no names. */
export type Mention = readonly [kind: string | undefined, id: string | undefined];

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** What a list takes as ids at once. The ids of further ones are shown in place of their names. */
const MAX_IDS = 50;
/** Names change rarely, and each list that is read leaves a row in the log. */
const FRESH_MS = 300_000;

export function useNames(mentions: readonly Mention[]): Names {
  const wantedIds = (wanted: string) => {
    const ids = mentions.flatMap(([kind, id]) => (kind === wanted && id !== undefined && UUID.test(id) ? [id] : []));
    return [...new Set(ids)].toSorted().slice(0, MAX_IDS);
  };
  const optionsFor = (ids: readonly string[]) => ({ enabled: ids.length > 0, staleTime: FRESH_MS });
  const read = (ids: string[]) => [{ id: ids, size: MAX_IDS }, optionsFor(ids)] as const;
  const users = wantedIds("user");
  const applications = useRead(ApplicationService.method.listApplications, ...read(wantedIds("application")));
  const proxies = useRead(ProxyService.method.listProxies, ...read(wantedIds("proxy")));
  const reactors = useRead(ReactorService.method.listReactors, ...read(wantedIds("reactor")));
  const members = useRead(MemberService.method.listMembers, { userId: users, size: MAX_IDS }, optionsFor(users));
  const named = (kind: Named["kind"], found: readonly { id: string; name: string }[] = []) =>
    found.map(({ id, name }): [string, Named] => [id, { kind, name }]);
  return new Map([
    ...named("application", applications.data?.data),
    ...named("proxy", proxies.data?.data),
    ...named("reactor", reactors.data?.data),
    ...named(
      "user",
      members.data?.data.map((member) => ({ id: member.user?.id ?? "", name: memberName(member) })),
    ),
  ]);
}

/** The names of those who made something: users or applications. */
export function useAuthors(ids: readonly (string | undefined)[]): Names {
  return useNames(["user", "application"].flatMap((kind) => ids.map((id): Mention => [kind, id])));
}
