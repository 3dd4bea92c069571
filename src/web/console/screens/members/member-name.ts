import type { Member } from "#client/proto/cloakroom/v1/members_pb.js";

/** What a member is called: names and address, or the id. */
export function memberName({ user, id }: Member): string {
  const { firstName, lastName, email } = user ?? {};
  return (
    [firstName, lastName, email && `<${email}>`]
      .filter(Boolean)
      .join(" ")
      .replace(/^<(.*)>$/, "$1") || id
  );
}
