import { Link, useSearchParams } from "wouter";
import { type Webhook, WebhookService } from "#client/proto/cloakroom/v1/webhooks_pb.js";
import { useRead } from "../../api/queries.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useSession } from "../../session.js";
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
  const add = useSession().can("WebhookService/CreateWebhook") && (
    <Link href="/webhooks?new=1" className="button primary">
      New webhook
    </Link>
  );
  return (
    <Screen title="Webhooks" actions={add}>
      <Loaded read={webhooks} lines={8}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>
              <p>There are no webhooks. A webhook is an address to which the vault sends what happened, signed.</p>
              {add}
            </Empty>
          ) : (
            <WebhookTable webhooks={data} />
          )
        }
      </Loaded>
    </Screen>
  );
}

function WebhookTable({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <Table
      label="Webhooks"
      rows={webhooks}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          cell: ({ id, name }) => (
            <Link href={`/webhooks?${new URLSearchParams({ id })}`}>
              <Name>{name}</Name>
            </Link>
          ),
        },
        { head: "Address", cell: ({ url }) => <Name>{url}</Name> },
        { head: "State", cell: ({ status }) => <WebhookState status={status} /> },
        { head: "Event types", isNumber: true, cell: ({ events }) => events.length },
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}
