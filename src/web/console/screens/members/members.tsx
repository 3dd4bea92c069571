import { type Member, MemberService } from "../../../../../clients/typescript/src/proto/cloakroom/v1/members_pb.js";
import { PasskeyService } from "../../../../../clients/typescript/src/proto/cloakroom/v1/passkeys_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Loaded } from "../../components/loaded.js";
import { OffsetPages, usePageNumber } from "../../components/pages.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { SignInTable } from "../sign-in-table.js";
import { Invitations } from "./invitations.js";
import { useRoleNames } from "./roles.js";

/** Who can sign in, with which role. */
export default function Members() {
  const members = useRead(MemberService.method.listMembers, { page: usePageNumber(), size: 50 });
  return (
    <Screen title="Members">
      <Loaded read={members} lines={6}>
        {({ data, pagination }) => (
          <>
            <MemberTable members={data} />
            <OffsetPages page={pagination} />
          </>
        )}
      </Loaded>
      <Invitations />
    </Screen>
  );
}

function MemberTable({ members }: { members: readonly Member[] }) {
  const { can, isAdministrator } = useSession();
  return (
    <Table
      label="Members"
      rows={members}
      keyOf={({ id }) => id}
      columns={[
        { head: "Person", cell: (member) => <Name>{nameOf(member)}</Name> },
        { head: "Role", cell: (member) => <RoleOf member={member} /> },
        { head: "Member since", cell: ({ createdAt }) => <Time at={createdAt} /> },
        ...(isAdministrator ? [{ head: "Sign-ins", cell: (member: Member) => <SignInsOf member={member} /> }] : []),
        ...(can("PasskeyService/ResetPasskeys")
          ? [{ head: "Passkeys", cell: (member: Member) => <ResetPasskeys member={member} /> }]
          : []),
        ...(can("MemberService/DeleteMember")
          ? [{ head: "Remove", cell: (member: Member) => <RemoveMember member={member} /> }]
          : []),
      ]}
    />
  );
}

function nameOf({ user, id }: Member): string {
  const { firstName, lastName, email } = user ?? {};
  return (
    [firstName, lastName, email && `<${email}>`]
      .filter(Boolean)
      .join(" ")
      .replace(/^<(.*)>$/, "$1") || id
  );
}

/** The OWNER and one's own role cannot be changed. */
function useIsFixed({ id, role }: Member): boolean {
  const { who } = useSession();
  return role === "OWNER" || id === who.memberId;
}

function RoleOf({ member }: { member: Member }) {
  const update = useChange(MemberService.method.updateMember);
  const names = useRoleNames();
  const isFixed = useIsFixed(member);
  if (isFixed || !update.isAllowed) return member.role;
  return (
    <>
      <select
        aria-label={`Role of ${nameOf(member)}`}
        value={member.role}
        disabled={update.isPending}
        onChange={(event) => update.run({ id: member.id, role: event.target.value })}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {update.problem && <ProblemNote problem={update.problem} />}
    </>
  );
}

function RemoveMember({ member }: { member: Member }) {
  const { isAllowed, run, ...change } = useChange(MemberService.method.deleteMember);
  if (useIsFixed(member) || !isAllowed) return null;
  return (
    <Confirm {...change} action="Remove" title="Remove this member?" onConfirm={(done) => run({ id: member.id }, done)}>
      <p>
        <Name>{nameOf(member)}</Name> is signed out everywhere at once. Rows of the log keep their author.
      </p>
    </Confirm>
  );
}

function ResetPasskeys({ member }: { member: Member }) {
  const { isAllowed, run, ...change } = useChange(PasskeyService.method.resetPasskeys);
  if (useIsFixed(member) || !isAllowed) return null;
  return (
    <Confirm
      {...change}
      action="Reset"
      title="Remove all passkeys of this member?"
      onConfirm={(done) => run({ memberId: member.id }, done)}
    >
      <p>
        For members who have lost their passkeys. <Name>{nameOf(member)}</Name> is signed out everywhere, and then signs
        in without a passkey until one is added again. Make sure that it is really this person who asks.
      </p>
    </Confirm>
  );
}

function SignInsOf({ member }: { member: Member }) {
  return (
    <details>
      <summary>Show</summary>
      <SignInTable memberId={member.id} />
    </details>
  );
}
