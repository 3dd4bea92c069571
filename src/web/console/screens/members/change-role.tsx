import { useState } from "react";
import { type Member, MemberService } from "#client/proto/cloakroom/v1/members_pb.js";
import { useChange } from "../../api/queries.js";
import { Choice, TextField } from "../../components/field.js";
import { FormDialog } from "../../components/form-dialog.js";
import { Name } from "../../components/text.js";
import { memberName } from "./member-name.js";
import { useRoleNames } from "./roles.js";

/** A button that asks for a member's new role and containers. The button keeps the focus after it. */
export function ChangeRole({ member }: { member: Member }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-label={`Change the role of ${memberName(member)}`} onClick={() => setOpen(true)}>
        Change
      </button>
      {isOpen && <RoleQuestion member={member} onClose={() => setOpen(false)} />}
    </>
  );
}

function RoleQuestion({ member, onClose }: { member: Member; onClose: () => void }) {
  const update = useChange(MemberService.method.updateMember);
  const names = useRoleNames();
  const [role, setRole] = useState(member.role);
  const [containers, setContainers] = useState(member.containers.join(" "));
  return (
    <FormDialog
      title="Change this member's role?"
      action="Change"
      isDangerous
      change={update}
      onSubmit={() => update.run({ id: member.id, role, containers: containersFor(role, containers) }, onClose)}
      onClose={onClose}
    >
      <p>
        <Name>{memberName(member)}</Name> is signed out everywhere at once, and has the new role from the next sign-in
        on.
      </p>
      <Choice
        label="New role"
        value={role}
        options={names.map((name): [string, string] => [name, name])}
        onChange={setRole}
      />
      {role === "DEVELOPER" && <AssignedContainers value={containers} onChange={setContainers} />}
    </FormDialog>
  );
}

/** Containers in which a DEVELOPER may give applications more than token:create. */
export function AssignedContainers({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <TextField
      label="Assigned containers"
      value={value}
      onChange={onChange}
      placeholder="/test/ /staging/"
      help="In these, applications of this member may also read masks, redact and delete. Elsewhere they only create tokens."
    />
  );
}

/** The containers of a form: other roles have none. */
export function containersFor(role: string, text: string): string[] {
  return role === "DEVELOPER" ? text.split(/[\s,]+/).filter((path) => path !== "") : [];
}
