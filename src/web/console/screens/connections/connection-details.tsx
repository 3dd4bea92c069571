import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useState } from "react";
import { type Connection, ConnectionService } from "#client/proto/cloakroom/v1/connections_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { DetailList } from "../../components/table.js";
import { CopyButton, WholeId } from "../../components/text.js";
import { Time } from "../../components/time.js";
import { useConflictCheck } from "../../use-conflict-check.js";
import { useLooks } from "../../use-looks.js";
import { Author } from "../author.js";
import { useAuthors } from "../names.js";
import { connectionRequest, openConnectionDraft } from "./connection-draft.js";
import { ConnectionForm } from "./connection-form.js";
import { ConnectionState } from "./connection-state.js";

/** One connection: whether payments can go through it, and what the payment service must know. */
export function ConnectionDetails({ id }: { id: string }) {
  const connection = useRead(ConnectionService.method.getConnection, { id });
  const replace = useChange(ConnectionService.method.replaceConnection);
  const [isEditing, setEditing] = useState(false);
  const look = useLooks(connection.refetch);
  const actions = connection.data && !isEditing && (
    <>
      {connection.data.status === "pending" && (
        <button type="button" disabled={connection.isFetching} onClick={connection.refetch}>
          Refresh
        </button>
      )}
      {replace.isAllowed && (
        <button type="button" onClick={() => setEditing(true)}>
          Edit
        </button>
      )}
      <DeleteEntity
        method={ConnectionService.method.deleteConnection}
        request={{ id }}
        kind="connection"
        list="/connections"
      >
        Its payments stay, and can no longer be captured, voided or refunded here.
      </DeleteEntity>
    </>
  );
  const onSaved = () => {
    setEditing(false);
    look();
  };
  return (
    <Screen title={connection.data?.displayName ?? "Connection"} actions={actions}>
      <Loaded read={connection} lines={8}>
        {(found) =>
          isEditing ? (
            <Editor connection={found} onSaved={onSaved} onCancel={() => setEditing(false)} />
          ) : (
            <Facts connection={found} />
          )
        }
      </Loaded>
    </Screen>
  );
}

function Facts({ connection }: { connection: Connection }) {
  const { id, connectionFormulaId, acceptedCountries, acceptedCurrencies, threeDSecureEnabled, webhookUrl } =
    connection;
  const { createdAt, createdBy, modifiedAt, modifiedBy } = connection;
  const names = useAuthors([createdBy, modifiedBy]);
  return (
    <>
      <StateNote connection={connection} />
      <DetailList
        pairs={[
          ["State", <ConnectionState key="state" connection={connection} />],
          ["Service", connectionFormulaId],
          ["Id", <WholeId key="id">{id}</WholeId>],
          ["3-D Secure", threeDSecureEnabled ? "yes" : "no"],
          ["Currencies", acceptedCurrencies.join(", ")],
          ["Countries", acceptedCountries.join(", ")],
          ["Created", <Time key="created" at={createdAt} />],
          ["By", createdBy && <Author key="by" id={createdBy} names={names} />],
          ["Changed", modifiedAt && <Time key="modified" at={modifiedAt} />],
          ["Changed by", modifiedBy && <Author key="changer" id={modifiedBy} names={names} />],
          ["Webhook address", webhookUrl && <WebhookAddress key="webhook" url={webhookUrl} />],
        ]}
      />
    </>
  );
}

function StateNote({ connection: { status } }: { connection: Connection }) {
  if (status === "pending") return <p className="note">The payment service has not confirmed the account yet.</p>;
  if (status !== "failed") return null;
  return (
    <p className="note problem">The payment service refused the account. Edit the connection, and enter it again.</p>
  );
}

/** The payment service sends its webhooks there; people enter it in the dashboard of that service. */
function WebhookAddress({ url }: { url: string }) {
  return (
    <>
      <code>{url}</code> <CopyButton text={url} label="Copy address" />
      <p className="help">Give it to the payment service: it reports here what becomes of payments.</p>
    </>
  );
}

interface EditorProps {
  readonly connection: Connection;
  readonly onSaved: () => void;
  readonly onCancel: () => void;
}

/** The whole of a connection is saved, so another person's changes would be undone without a word. */
function Editor({ connection, onSaved, onCancel }: EditorProps) {
  const replace = useChange(ConnectionService.method.replaceConnection);
  const formulas = useRead(
    ConnectionService.method.listConnectionFormulas,
    {},
    { staleTime: Number.POSITIVE_INFINITY },
  );
  const { id, connectionFormulaId } = connection;
  const client = createClient(ConnectionService, useTransport());
  const check = useConflictCheck(connection, () => client.getConnection({ id }));
  return (
    <Loaded read={formulas} lines={8}>
      {({ data }) => {
        const formula = data.find((one) => one.id === connectionFormulaId);
        return (
          formula && (
            <ConnectionForm
              formula={formula}
              change={replace}
              initial={openConnectionDraft(connection)}
              isStored
              check={check}
              onCancel={onCancel}
              onSubmit={(draft) => replace.run({ ...connectionRequest(formula, draft), id }, onSaved)}
            />
          )
        );
      }}
    </Loaded>
  );
}
