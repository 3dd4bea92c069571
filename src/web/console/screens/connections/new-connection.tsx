import { useSearchParams } from "wouter";
import { ConnectionService } from "#client/proto/cloakroom/v1/connections_pb.js";
import { useChange, useRead } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Choice } from "../../components/field.js";
import { Loaded, Permitted } from "../../components/loaded.js";
import { Screen } from "../../components/screen.js";
import { useLeaveTo } from "../../use-leave-to.js";
import { connectionRequest, newConnectionDraft } from "./connection-draft.js";
import { ConnectionForm } from "./connection-form.js";

export function NewConnection() {
  const create = useChange(ConnectionService.method.createConnection);
  return (
    <Screen title="New connection">
      <Permitted operation={create.operation}>
        <Chosen />
      </Permitted>
    </Screen>
  );
}

/** The service first: it says which fields its accounts have. */
function Chosen() {
  const formulas = useRead(
    ConnectionService.method.listConnectionFormulas,
    {},
    { staleTime: Number.POSITIVE_INFINITY },
  );
  const create = useChange(ConnectionService.method.createConnection);
  const leaveTo = useLeaveTo();
  const [params, setParams] = useSearchParams();
  return (
    <Loaded read={formulas} lines={8}>
      {({ data }) => {
        const formula = data.find(({ id }) => id === params.get("service"));
        return (
          <>
            <div className="form wide">
              <Choice
                label="Payment service"
                value={formula?.id ?? ""}
                options={[
                  ["", "Choose one"],
                  ...data.map(({ id, displayName }): [string, string] => [id, displayName]),
                ]}
                onChange={(service) => setParams(service === "" ? { new: "1" } : { new: "1", service })}
                help="The simulator moves no money, and is for tries."
              />
            </div>
            {formula && (
              <ConnectionForm
                key={formula.id}
                formula={formula}
                change={create}
                initial={newConnectionDraft(formula)}
                isStored={false}
                onSubmit={(draft) =>
                  create.run(connectionRequest(formula, draft), ({ id }) => leaveTo(entityAddress("/connections", id)))
                }
              />
            )}
          </>
        );
      }}
    </Loaded>
  );
}
