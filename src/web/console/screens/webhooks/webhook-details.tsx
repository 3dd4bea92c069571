import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Webhook, WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { Confirm } from "../../components/confirm.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { Loaded } from "../../components/loaded.js";
import { NewSecret } from "../../components/new-secret.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { Name, WholeId } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useConflictCheck } from "../../use-conflict-check.js";
import { Author } from "../author.js";
import { useAuthors } from "../names.js";
import { Deliveries } from "./deliveries.js";
import { WebhookForm, webhookRequest } from "./webhook-form.js";
import { WebhookState } from "./webhook-state.js";

export function WebhookDetails({ id }: { id: string }) {
  const webhook = useRead(WebhookService.method.getWebhook, { id });
  const replace = useChange(WebhookService.method.replaceWebhook);
  const [secret, setSecret] = useState<string | undefined>();
  const [isEditing, setEditing] = useState(false);
  const actions = webhook.data && !isEditing && (
    <>
      {replace.isAllowed && (
        <>
          <button type="button" onClick={() => setEditing(true)}>
            Edit
          </button>
          <Switch webhook={webhook.data} />
        </>
      )}
      <RotateSecret id={id} onRotated={setSecret} />
      <DeleteEntity method={WebhookService.method.deleteWebhook} request={{ id }} kind="webhook" list="/webhooks">
        Its deliveries are deleted too, also those that wait.
      </DeleteEntity>
    </>
  );
  return (
    <Screen title={webhook.data?.name ?? "Webhook"} actions={actions}>
      {secret !== undefined && <NewSecret name="secret" secret={secret} />}
      <Loaded read={webhook} lines={8}>
        {(found) =>
          isEditing ? <Editor webhook={found} onDone={() => setEditing(false)} /> : <Facts webhook={found} />
        }
      </Loaded>
      {webhook.data && <Deliveries webhook={webhook.data} />}
    </Screen>
  );
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { id, url, status, notifyEmail, events, createdAt, createdBy, modifiedAt, formerSecretExpiresAt } = webhook;
  const names = useAuthors([createdBy]);
  return (
    <DetailList
      pairs={[
        ["Id", <WholeId key="id">{id}</WholeId>],
        ["Address", <Name key="url">{url}</Name>],
        ["State", <WebhookState key="status" status={status} />],
        ["Mail to", notifyEmail && <Name key="mail">{notifyEmail}</Name>],
        ["Events", <code key="events">{events.join(", ")}</code>],
        ["Former secret", formerSecretExpiresAt && <FormerSecret key="former" at={formerSecretExpiresAt} />],
        ["Created", <Time key="created" at={createdAt} />],
        ["By", createdBy && <Author key="by" id={createdBy} names={names} />],
        ["Changed", modifiedAt && <Time key="modified" at={modifiedAt} />],
      ]}
    />
  );
}

function FormerSecret({ at }: { at: Webhook["formerSecretExpiresAt"] }) {
  return (
    <>
      signs requests too, until <Time at={at} />
    </>
  );
}

interface EditorProps {
  readonly webhook: Webhook;
  readonly onDone: () => void;
}

/** The whole of a webhook is saved, so another person's changes would be undone without a word. */
function Editor({ webhook, onDone }: EditorProps) {
  const { id, name, url, notifyEmail = "", events } = webhook;
  const replace = useChange(WebhookService.method.replaceWebhook);
  const client = createClient(WebhookService, useTransport());
  const check = useConflictCheck(webhook, () => client.getWebhook({ id }));
  return (
    <WebhookForm
      initial={{ name, url, notifyEmail, events }}
      submitText="Save"
      change={replace}
      check={check}
      onCancel={onDone}
      onSubmit={(draft) => replace.run({ ...webhookRequest(draft), id }, onDone)}
    />
  );
}

/** Disables a webhook, after a question, or enables it. */
function Switch({ webhook: { id, name, url, notifyEmail = "", events, status } }: { webhook: Webhook }) {
  const { run, isPending, problem, cancel } = useChange(WebhookService.method.replaceWebhook);
  const properties = { ...webhookRequest({ name, url, notifyEmail, events }), id };
  if (status === "enabled") {
    const disable = (done: () => void) => run({ ...properties, status: "disabled" }, done);
    return (
      <Confirm
        isPending={isPending}
        problem={problem}
        cancel={cancel}
        isDangerous={false}
        action="Disable"
        title="Disable this webhook?"
        onConfirm={disable}
      >
        <p>Deliveries that wait end as failed. They can be sent again once it is enabled.</p>
      </Confirm>
    );
  }
  return (
    <>
      <button type="button" disabled={isPending} onClick={() => run({ ...properties, status: "enabled" })}>
        Enable
      </button>
      {problem && <ProblemNote problem={problem} />}
    </>
  );
}

function RotateSecret({ id, onRotated }: { id: string; onRotated: (secret: string | undefined) => void }) {
  const { isAllowed, run, ...change } = useChange(WebhookService.method.rotateWebhookSecret);
  if (!isAllowed) return null;
  const rotate = (done: () => void) =>
    run({ id }, ({ secret }) => {
      onRotated(secret);
      done();
    });
  return (
    <Confirm {...change} isDangerous={false} action="Rotate secret" title="Make another secret?" onConfirm={rotate}>
      <p>Requests are signed with both secrets for a day. The former one ends then.</p>
    </Confirm>
  );
}
