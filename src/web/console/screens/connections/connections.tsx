import { Link, useSearchParams } from "wouter";
import { type Connection, ConnectionService } from "#client/proto/cloakroom/v1/connections_pb.js";
import { useRead } from "../../api/queries.js";
import { Empty, Loaded } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { Table } from "../../components/table.js";
import { Name } from "../../components/text.js";
import { useSession } from "../../session.js";
import { ConnectionDetails } from "./connection-details.js";
import { joinCodes } from "./connection-draft.js";
import { ConnectionState } from "./connection-state.js";
import { NewConnection } from "./new-connection.js";

export default function Connections() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewConnection />;
  return id === null ? <ConnectionList /> : <ConnectionDetails key={id} id={id} />;
}

function ConnectionList() {
  const connections = useRead(ConnectionService.method.listConnections, {});
  const add = useSession().can("ConnectionService/CreateConnection") && (
    <Link href="/connections?new=1" className="button primary">
      New connection
    </Link>
  );
  return (
    <Screen title="Connections" actions={add}>
      <Loaded read={connections} lines={8}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty>
              <p>
                There are no connections. A connection is an account at a payment service, which payments go through.
              </p>
              {add}
              <a href="/docs/guides/payments" className="button">
                Read how to charge a token
              </a>
            </Empty>
          ) : (
            <ConnectionTable connections={data} />
          )
        }
      </Loaded>
    </Screen>
  );
}

function ConnectionTable({ connections }: { connections: readonly Connection[] }) {
  return (
    <Table
      label="Connections"
      rows={connections}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          cell: ({ id, displayName }) => (
            <Link href={`/connections?${new URLSearchParams({ id })}`}>
              <Name>{displayName}</Name>
            </Link>
          ),
        },
        { head: "Service", cell: ({ connectionFormulaId }) => connectionFormulaId },
        { head: "State", cell: (connection) => <ConnectionState connection={connection} /> },
        { head: "Currencies", cell: ({ acceptedCurrencies }) => joinCodes(acceptedCurrencies) },
        { head: "Countries", cell: ({ acceptedCountries }) => joinCodes(acceptedCountries) },
      ]}
    />
  );
}
