import { useSearchParams } from "wouter";
import { ConnectionService } from "#client/proto/cloakroom/v1/connections_pb.js";
import { useRead } from "../../api/queries.js";
import { EntityList } from "../../components/entity-list.js";
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
  return (
    <EntityList
      title="Connections"
      path="/connections"
      list={connections}
      add={{ operation: "ConnectionService/CreateConnection", text: "New connection" }}
      purpose="There are no connections. A connection is an account at a payment service, which payments go through."
      guide={
        <a href="/docs/guides/payments" className="button">
          Read how to charge a token
        </a>
      }
      nameOf={({ displayName }) => displayName}
      columns={[
        { head: "Service", cell: ({ connectionFormulaId }) => connectionFormulaId },
        { head: "State", cell: (connection) => <ConnectionState connection={connection} /> },
        { head: "Currencies", cell: ({ acceptedCurrencies }) => joinCodes(acceptedCurrencies) },
        { head: "Countries", cell: ({ acceptedCountries }) => joinCodes(acceptedCountries) },
      ]}
    />
  );
}
