import { useState } from "react";
import { Link } from "wouter";
import { type Webhook, WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useChange } from "../../api/queries.js";
import { NoRight } from "../../components/loaded.js";
import { NewSecret } from "../../components/new-secret.js";
import { Screen } from "../../components/screen.js";
import { propertiesOf, WebhookForm } from "./webhook-form.js";

/** Makes a webhook, and shows its secret once. */
export function NewWebhook() {
  const create = useChange(WebhookService.method.createWebhook);
  const [created, setCreated] = useState<Webhook | undefined>();
  if (created) {
    return (
      <Screen title="The webhook is ready">
        <NewSecret name="secret" secret={created.secret ?? ""} />
        <Link href={`/webhooks?${new URLSearchParams({ id: created.id })}`}>Go to the webhook</Link>
      </Screen>
    );
  }
  return (
    <Screen title="New webhook">
      {create.isAllowed ? (
        <WebhookForm
          initial={{ name: "", url: "", notifyEmail: "", events: [] }}
          submitText="Create webhook and secret"
          change={create}
          onSubmit={(draft) => create.run(propertiesOf(draft), setCreated)}
        />
      ) : (
        <NoRight operation={create.operation} />
      )}
    </Screen>
  );
}
