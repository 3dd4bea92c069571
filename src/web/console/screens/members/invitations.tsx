import { useState } from "react";
import { InvitationService } from "#client/proto/cloakroom/v1/invitations_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { Choice, TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { Listing } from "../../components/listing.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
import { AssignedContainers, containersFor } from "./change-role.js";
import { useRoleNames } from "./roles.js";

/** Invitations that were not accepted yet, and a form for another. */
export function Invitations() {
  const { can } = useSession();
  const invitations = useRead(InvitationService.method.listInvitations, { size: 100 });
  return (
    <section aria-labelledby="invitations">
      <h2 id="invitations">Invitations</h2>
      <Invite />
      <Listing
        read={invitations}
        label="Invitations"
        none="No invitation is open."
        columns={[
          { head: "Address", cell: ({ email }) => <Name>{email}</Name> },
          { head: "Role", cell: ({ role }) => role },
          { head: "State", cell: ({ status }) => <span className="pill">{status.toLowerCase()}</span> },
          { head: "Expires", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          can("InvitationService/DeleteInvitation") && {
            head: "Actions",
            cell: ({ id }) => <InvitationActions id={id} />,
          },
        ]}
      />
    </section>
  );
}

function Invite() {
  const create = useChange(InvitationService.method.createInvitation);
  const names = useRoleNames();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState("ADMIN");
  const [containers, setContainers] = useState("");
  if (!create.isAllowed) return null;
  const submit = () =>
    create.run({ email: email.trim(), role, containers: containersFor(role, containers) }, () => setEmail(""));
  return (
    <Form className="filters" aria-label="Invite" onSubmit={submit}>
      <TextField
        label="E-mail address"
        type="email"
        value={email}
        onChange={setEmail}
        isRequired
        problem={create.problem?.fields.get("email")}
      />
      <Choice
        label="Role"
        value={role}
        options={names.map((name): [string, string] => [name, name])}
        onChange={setRole}
      />
      {role === "DEVELOPER" && <AssignedContainers value={containers} onChange={setContainers} />}
      <button type="submit" className="primary" disabled={create.isPending}>
        Invite
      </button>
      {create.problem && create.problem.fields.size === 0 && <ProblemNote problem={create.problem} />}
    </Form>
  );
}

function InvitationActions({ id }: { id: string }) {
  const resend = useChange(InvitationService.method.resendInvitation);
  const { isAllowed, run, ...withdraw } = useChange(InvitationService.method.deleteInvitation);
  return (
    <div className="actions">
      {resend.isAllowed && (
        <button type="button" disabled={resend.isPending} onClick={() => resend.run({ id })}>
          Mail again
        </button>
      )}
      {isAllowed && (
        <Confirm
          {...withdraw}
          action="Withdraw"
          title="Withdraw this invitation?"
          onConfirm={(done) => run({ id }, done)}
        >
          <p>Its links stop working.</p>
        </Confirm>
      )}
      {resend.problem && <ProblemNote problem={resend.problem} />}
    </div>
  );
}
