import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useState } from "react";
import { RevealService } from "#client/proto/cloakroom/v1/reveals_pb.js";
import { TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { type CallProblem, toCallProblem } from "../../api/call-problem.js";
import { useRead } from "../../api/queries.js";
import { reasonHeader } from "../../api/reason-header.js";
import { TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { ProblemNote } from "../../components/problem-note.js";
import { useSession } from "../../session.js";
import { textOfValue } from "../../values.js";
import { SHOWN_MS, useShownBriefly } from "./use-shown-briefly.js";

/** Shows a value in the clear to those who may see it, for half a minute. */
export function RevealValue({ id }: { id: string }) {
  const { can } = useSession();
  const tenant = useRead(TenantService.method.getTenant, {});
  if (!can("RevealService/RevealToken") || !tenant.data) return null;
  const isOn = tenant.data.settings.reveal_to_people === "true";
  return (
    <section aria-labelledby="reveal">
      <h2 id="reveal">Value in the clear</h2>
      {isOn ? (
        <RevealForm id={id} />
      ) : (
        <p className="quiet">The settings of this tenant show people masked values only.</p>
      )}
    </section>
  );
}

function RevealForm({ id }: { id: string }) {
  const transport = useTransport();
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<CallProblem>();
  const [isPending, setPending] = useState(false);
  const [shown, show, hide] = useShownBriefly<string>();
  // Not by a query or mutation, which would keep the value in their caches.
  const reveal = async () => {
    setPending(true);
    setProblem(undefined);
    try {
      const headers = reasonHeader(reason);
      const { data } = await createClient(RevealService, transport).revealToken({ id }, { headers });
      if (document.hasFocus()) show(textOfValue(data));
      setReason("");
    } catch (error) {
      setProblem(toCallProblem(error));
    } finally {
      setPending(false);
    }
  };
  if (shown !== undefined) {
    return (
      <div className="note" role="status">
        <pre>{shown}</pre>
        <p className="quiet">Hidden again after {SHOWN_MS / 1_000} seconds, or when you leave this window.</p>
        <button type="button" onClick={hide}>
          Hide now
        </button>
      </div>
    );
  }
  return (
    <Form className="form" onSubmit={() => void reveal()}>
      {problem && <ProblemNote problem={problem} />}
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        isRequired
        help="Kept in the log with your name. Do not write the value here."
      />
      <div>
        <button type="submit" disabled={isPending}>
          Show the value
        </button>
      </div>
    </Form>
  );
}
