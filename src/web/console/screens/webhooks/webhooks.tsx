import { useSearchParams } from "wouter";
import { WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useRead } from "../../api/queries.js";
import { CREATED, EntityList } from "../../components/entity-list.js";
import { Name } from "../../components/text.js";
import { NewWebhook } from "./new-webhook.js";
import { WebhookDetails } from "./webhook-details.js";
import { WebhookState } from "./webhook-state.js";

export default function Webhooks() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewWebhook />;
  return id === null ? <WebhookList /> : <WebhookDetails key={id} id={id} />;
}

function WebhookList() {
  const webhooks = useRead(WebhookService.method.listWebhooks, {});
  return (
    <EntityList
      title="Webhooks"
      path="/webhooks"
      list={webhooks}
      add={{ operation: "WebhookService/CreateWebhook", text: "New webhook" }}
      purpose="There are no webhooks. A webhook is an address to which the vault sends what happened, signed."
      nameOf={({ name }) => name}
      columns={[
        { head: "Address", cell: ({ url }) => <Name>{url}</Name> },
        { head: "State", cell: ({ status }) => <WebhookState status={status} /> },
        { head: "Event types", isNumber: true, cell: ({ events }) => events.length },
        CREATED,
      ]}
    />
  );
}
