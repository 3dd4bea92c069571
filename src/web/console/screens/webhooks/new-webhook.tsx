import { useState } from "react";
import { Link } from "wouter";
import { type Webhook, WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useChange } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Permitted } from "../../components/loaded.js";
import { NewSecret } from "../../components/new-secret.js";
import { Screen } from "../../components/screen.js";
import { WebhookForm, webhookRequest } from "./webhook-form.js";

/** Makes a webhook, and shows its secret once. */
export function NewWebhook() {
  const create = useChange(WebhookService.method.createWebhook);
  const [created, setCreated] = useState<Webhook | undefined>();
  if (created) {
    return (
      <Screen title="The webhook is ready">
        <NewSecret name="secret" secret={created.secret ?? ""} />
        <Link href={entityAddress("/webhooks", created.id)}>Go to the webhook</Link>
      </Screen>
    );
  }
  return (
    <Screen title="New webhook">
      <Permitted operation={create.operation}>
        <WebhookForm
          initial={{ name: "", url: "", notifyEmail: "", events: [] }}
          submitText="Create webhook and secret"
          change={create}
          onSubmit={(draft) => create.run(webhookRequest(draft), setCreated)}
        />
      </Permitted>
    </Screen>
  );
}
