import { useMutation } from "@connectrpc/connect-query";
import { type Dispatch, type SetStateAction, useState } from "react";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { toCallProblem } from "../api/call-problem.js";
import { store } from "../browser-storage.js";
import { TextField } from "../components/field.js";
import { Form } from "../components/form.js";
import { ProblemNote } from "../components/problem-note.js";
import { useSessionIfAny } from "../session.js";

interface AskForLinkProps {
  readonly needsTenant: boolean;
  readonly mailIsFiled: boolean;
  readonly tenant: readonly [string, Dispatch<SetStateAction<string>>];
}

/** Asks for a mailed link. What it shows afterwards is the same for every address. */
export function AskForLink({ needsTenant, mailIsFiled, tenant: [tenantId, setTenantId] }: AskForLinkProps) {
  const [email, setEmail] = useState(useSessionIfAny()?.who.email ?? "");
  const ask = useMutation(SignInService.method.askForSignInLink);
  const submit = () => {
    if (needsTenant) store("localStorage", "cloakroom-tenant", tenantId.trim());
    ask.mutate({ email: email.trim(), ...(needsTenant ? { tenantId: tenantId.trim() } : {}) });
  };
  if (ask.isSuccess) {
    return (
      <div className="note" role="status">
        <p>
          Check your mail. If a member has the address <bdi>{email}</bdi>, a link is on its way. It works once, within
          10 minutes, in this browser.
        </p>
        {mailIsFiled && (
          <p>
            This vault has no mail server: the message is a file on the server, in the folder <code>mail</code> of its
            data directory.
          </p>
        )}
        <button type="button" onClick={() => ask.reset()}>
          Use another address
        </button>
      </div>
    );
  }
  const problem = ask.error ? toCallProblem(ask.error) : undefined;
  return (
    <Form onSubmit={submit} className="form">
      <TextField
        label="E-mail address"
        type="email"
        value={email}
        onChange={setEmail}
        isRequired
        autoComplete="email"
        problem={problem?.fields.get("email")}
      />
      {needsTenant && (
        <TextField
          label="Tenant id"
          value={tenantId}
          onChange={setTenantId}
          isRequired
          help="This vault has several tenants. The invitation and your administrators name yours."
          problem={problem?.fields.get("tenant_id")}
        />
      )}
      {problem && problem.fields.size === 0 && <ProblemNote problem={problem} />}
      <button type="submit" className="primary" disabled={ask.isPending}>
        Mail me a link
      </button>
    </Form>
  );
}
