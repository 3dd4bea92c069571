import { useSearchParams } from "wouter";
import { ReactorFormulaService, ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useRead } from "../../api/queries.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { CHANGED, CREATED, EntityList } from "../../components/entity-list.js";
import { Loaded, Permitted } from "../../components/loaded.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { useSession } from "../../session.js";
import { FailedRuns, RunList } from "../code/failed-runs.js";
import { ReactorEditor } from "./reactor-editor.js";

const CREATE = "ReactorService/CreateReactor";

export default function Reactors() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewReactor />;
  return id === null ? <ReactorList /> : <ReactorDetails key={id} id={id} />;
}

function ReactorList() {
  const reactors = useRead(ReactorService.method.listReactors, { page: usePageNumber(), size: 50 });
  return (
    <EntityList
      title="Reactors"
      path="/reactors"
      list={reactors}
      page={reactors.data?.pagination}
      add={{ operation: CREATE, text: "New reactor" }}
      purpose="There are no reactors. A reactor is code that runs in the vault's sandbox with the values of tokens."
      nameOf={({ name }) => name}
      columns={[
        { head: "Code", cell: ({ formula, code = "" }) => (formula ? "formula" : describeLength(code)) },
        CREATED,
        CHANGED,
      ]}
    />
  );
}

function describeLength(code: string): string {
  const count = code.trimEnd().split("\n").length;
  return count === 1 ? "1 line" : `${count} lines`;
}

function NewReactor() {
  const [params] = useSearchParams();
  const formulaId = params.get("formula");
  return (
    <Screen title="New reactor">
      <Permitted operation={CREATE}>
        {formulaId === null ? <ReactorEditor reactor={undefined} formula={undefined} /> : <OfFormula id={formulaId} />}
      </Permitted>
    </Screen>
  );
}

function OfFormula({ id }: { id: string }) {
  const formula = useRead(ReactorFormulaService.method.getReactorFormula, { id });
  return (
    <Loaded read={formula} lines={10}>
      {(found) => <ReactorEditor reactor={undefined} formula={found} />}
    </Loaded>
  );
}

function ReactorDetails({ id }: { id: string }) {
  const { can, mayChange } = useSession();
  const reactor = useRead(ReactorService.method.getReactor, { id });
  return (
    <Screen
      title={reactor.data?.name ?? "Reactor"}
      actions={
        reactor.data &&
        mayChange(reactor.data.createdBy) && (
          <DeleteEntity method={ReactorService.method.deleteReactor} request={{ id }} kind="reactor" list="/reactors">
            Calls of it fail from now on.
          </DeleteEntity>
        )
      }
    >
      <Loaded read={reactor} lines={10}>
        {(found) => <ReactorEditor reactor={found} formula={found.formulaDetails} />}
      </Loaded>
      {reactor.data && can("ReactorService/ListFailedReactorRuns") && mayChange(reactor.data.createdBy) && (
        <FailedRuns>
          <ReactorRuns id={id} />
        </FailedRuns>
      )}
    </Screen>
  );
}

function ReactorRuns({ id }: { readonly id: string }) {
  return <RunList runs={useRead(ReactorService.method.listFailedReactorRuns, { id })} />;
}
