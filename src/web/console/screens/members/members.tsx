import { Link } from "wouter";
import { type Member, MemberService } from "#client/proto/cloakroom/v1/members_pb.js";
import { PasskeyService } from "#client/proto/cloakroom/v1/passkeys_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Loaded } from "../../components/loaded.js";
import { OffsetPages, usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { SignInTable } from "../sign-in-table.js";
import { ChangeRole } from "./change-role.js";
import { Invitations } from "./invitations.js";
import { memberName } from "./member-name.js";
import { WaitingPasskeys } from "./waiting-passkeys.js";

/** Who can sign in, with which role. */
export default function Members() {
  const members = useRead(MemberService.method.listMembers, { page: usePageNumber(), size: 50 });
  const { isAdministrator } = useSession();
  return (
    <Screen title="Members">
      <Loaded read={members} lines={6}>
        {({ data, pagination }) => (
          <>
            <MemberTable members={data} />
            <OffsetPages page={pagination} />
            {isAdministrator && <WaitingPasskeys members={data} />}
          </>
        )}
      </Loaded>
      <Invitations />
    </Screen>
  );
}

function MemberTable({ members }: { members: readonly Member[] }) {
  const { can, isAdministrator } = useSession();
  const hasActions = can("MemberService/DeleteMember") || can("PasskeyService/ResetPasskeys");
  return (
    <Table
      label="Members"
      rows={members}
      keyOf={({ id }) => id}
      columns={[
        { head: "Person", cell: (member) => <Person member={member} /> },
        { head: "Role", cell: (member) => <MemberRole member={member} /> },
        { head: "Member since", cell: ({ createdAt }) => <Time at={createdAt} /> },
        isAdministrator && { head: "Sign-ins", cell: (member) => <MemberSignIns member={member} /> },
        hasActions && { head: "Actions", cell: (member) => <MemberActions member={member} /> },
      ]}
    />
  );
}

function Person({ member }: { member: Member }) {
  const { can } = useSession();
  const id = member.user?.id;
  return (
    <>
      <Name>{memberName(member)}</Name>
      {id !== undefined && can("LogService/ListLogs") && (
        <div>
          <Link href={`/log?${new URLSearchParams({ actor_id: id })}`}>What did they do?</Link>
        </div>
      )}
    </>
  );
}

/** The OWNER and one's own role cannot be changed. */
function useIsFixed({ id, role }: Member): boolean {
  const { who } = useSession();
  return role === "OWNER" || id === who.memberId;
}

function MemberRole({ member }: { member: Member }) {
  const { can } = useSession();
  const isFixed = useIsFixed(member);
  return (
    <div className="actions">
      <span>
        {member.role}
        {member.containers.length > 0 && <span className="quiet"> in {member.containers.join(", ")}</span>}
      </span>
      {!isFixed && can("MemberService/UpdateMember") && <ChangeRole member={member} />}
    </div>
  );
}

function MemberActions({ member }: { member: Member }) {
  if (useIsFixed(member)) return null;
  return (
    <div className="actions">
      <ResetPasskeys member={member} />
      <RemoveMember member={member} />
    </div>
  );
}

function RemoveMember({ member }: { member: Member }) {
  const { isAllowed, run, ...change } = useChange(MemberService.method.deleteMember);
  if (!isAllowed) return null;
  return (
    <Confirm {...change} action="Remove" title="Remove this member?" onConfirm={(done) => run({ id: member.id }, done)}>
      <p>
        <Name>{memberName(member)}</Name> is signed out everywhere at once. Rows of the log keep their author.
      </p>
    </Confirm>
  );
}

function ResetPasskeys({ member }: { member: Member }) {
  const { isAllowed, run, ...change } = useChange(PasskeyService.method.resetPasskeys);
  if (!isAllowed) return null;
  return (
    <Confirm
      {...change}
      action="Reset passkeys"
      title="Remove all passkeys of this member?"
      onConfirm={(done) => run({ memberId: member.id }, done)}
    >
      <p>
        For members who have lost their passkeys. <Name>{memberName(member)}</Name> is signed out everywhere, and then
        signs in without a passkey until one is added again. Make sure that it is really this person who asks.
      </p>
    </Confirm>
  );
}

function MemberSignIns({ member }: { member: Member }) {
  return (
    <details>
      <summary>Show</summary>
      <SignInTable memberId={member.id} />
    </details>
  );
}
