import { useState } from "react";
import type { Proxy as ProxyEntity } from "#client/proto/cloakroom/v1/proxies_pb.js";
import { TenantService } from "#client/proto/cloakroom/v1/tenants_pb.js";
import { useRead } from "../../api/queries.js";
import { TextArea, TextField } from "../../components/field.js";
import { FormDialog } from "../../components/form-dialog.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { SampleToken, sampleBody } from "../code/sample-token.js";
import { type ProxyAnswer, useProxyCall } from "./use-proxy-call.js";

/** Calls a saved proxy as a program does, with a program's key. The partner gets the values. */
export function CallProxy({ proxy }: { proxy: ProxyEntity }) {
  const [isOpen, setOpen] = useState(false);
  if (proxy.key === "") return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Call it
      </button>
      {isOpen && <Call proxy={proxy} onClose={() => setOpen(false)} />}
    </>
  );
}

function Call({ proxy, onClose }: { proxy: ProxyEntity; onClose: () => void }) {
  const [draft, set] = useDraft({ key: "", body: sampleBody({ id: "token_id", type: "card" }) });
  const field = bindFields(draft, set);
  const call = useProxyCall();
  const tenant = useRead(TenantService.method.getTenant, {});
  const isShown = tenant.data?.settings.reveal_to_people === "true";
  return (
    <FormDialog
      title="Call this proxy"
      action="Send"
      change={call}
      onSubmit={() =>
        call.send({ proxyKey: proxy.key, apiKey: draft.key.trim(), body: draft.body, showsBody: isShown })
      }
      onClose={onClose}
    >
      <p>
        Sends the values of tokens to <bdi dir="auto">{proxy.destinationUrl}</bdi>. The log has the rows of the
        application whose key you use.
      </p>
      {proxy.requireAuth && (
        <TextField
          label="Key of an application with token:use"
          type="password"
          {...field("key")}
          help="It is sent to the vault with this call and kept nowhere."
          isRequired
        />
      )}
      <SampleToken onChosen={set("body")} />
      <TextArea label="Body" rows={6} {...field("body")} />
      {call.answer && <Answer answer={call.answer} />}
    </FormDialog>
  );
}

function Answer({ answer: { status, refusal, body } }: { answer: ProxyAnswer }) {
  return (
    <div className={status < 400 ? "note good" : "note"} role="status">
      <p>
        The response has status <strong>{status}</strong>.
      </p>
      {refusal !== undefined ? (
        <p>The vault says: {refusal}</p>
      ) : body === undefined ? (
        <p>
          Its body is not shown, as it may hold values: this tenant shows people none in the clear. Your program gets
          it.
        </p>
      ) : (
        <pre className="secret">{body}</pre>
      )}
    </div>
  );
}
