import { useState } from "react";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { useChange } from "../api/queries.js";
import { TextField } from "../components/field.js";
import { Form } from "../components/form.js";
import { ProblemNote } from "../components/problem-note.js";
import { TABS } from "../sign-in-state.js";

/** Moves to another tenant of which the person is a member. Nothing ties tenants together, so its id is needed. */
export function SwitchTenant() {
  const change = useChange(SignInService.method.switchTenant);
  const [tenantId, setTenantId] = useState("");
  const submit = () => {
    change.run({ tenantId: tenantId.trim() }, ({ needsPasskey }) => {
      new BroadcastChannel(TABS).postMessage(needsPasskey ? "signed-out" : "signed-in");
      // A new document: nothing of this tenant stays in memory.
      location.assign(needsPasskey ? "/console/sign-in" : "/console");
    });
  };
  return (
    <section aria-labelledby="switch">
      <h2 id="switch">Another tenant</h2>
      <Form className="form" onSubmit={submit}>
        {change.problem && change.problem.fields.size === 0 && <ProblemNote problem={change.problem} />}
        <TextField
          label="Tenant id"
          value={tenantId}
          onChange={setTenantId}
          isRequired
          help="You must be a member of it, under the same e-mail address."
          problem={change.problem?.fields.get("tenant_id")}
        />
        <div>
          <button type="submit" disabled={change.isPending}>
            Switch
          </button>
        </div>
      </Form>
    </section>
  );
}
