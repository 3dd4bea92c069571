import { useSearchParams } from "wouter";
import { ReactorFormulaService, ReactorService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useRead } from "../../api/queries.js";
import { Loaded, NoRight } from "../../components/loaded.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { useSession } from "../../session.js";
import { CodeList } from "../code/code-list.js";
import { FailedRuns } from "../code/failed-runs.js";
import { DeleteReactor } from "./delete-reactor.js";
import { ReactorEditor } from "./reactor-editor.js";

export default function Reactors() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewReactor />;
  return id === null ? <ReactorList /> : <ReactorDetails key={id} id={id} />;
}

function ReactorList() {
  const reactors = useRead(ReactorService.method.listReactors, { page: usePageNumber(), size: 50 });
  return (
    <CodeList
      title="Reactors"
      path="/reactors"
      list={reactors}
      canAdd={useSession().can("ReactorService/CreateReactor")}
      addText="New reactor"
      purpose="There are no reactors. A reactor is code that runs in the vault's sandbox with the values of tokens."
      head="Code"
      cell={({ formula, code = "" }) => (formula ? "formula" : describeLength(code))}
    />
  );
}

function describeLength(code: string): string {
  const count = code.trimEnd().split("\n").length;
  return count === 1 ? "1 line" : `${count} lines`;
}

function NewReactor() {
  const { can } = useSession();
  const [params] = useSearchParams();
  const formulaId = params.get("formula");
  if (!can("ReactorService/CreateReactor")) {
    return (
      <Screen title="New reactor">
        <NoRight operation="ReactorService/CreateReactor" />
      </Screen>
    );
  }
  return (
    <Screen title="New reactor">
      {formulaId === null ? <ReactorEditor reactor={undefined} formula={undefined} /> : <OfFormula id={formulaId} />}
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
  const { mayChange } = useSession();
  const reactor = useRead(ReactorService.method.getReactor, { id });
  const runs = useRead(ReactorService.method.listFailedReactorRuns, { id });
  return (
    <Screen
      title={reactor.data?.name ?? "Reactor"}
      actions={reactor.data && mayChange(reactor.data.createdBy) && <DeleteReactor id={id} />}
    >
      <Loaded read={reactor} lines={10}>
        {(found) => <ReactorEditor reactor={found} formula={found.formulaDetails} />}
      </Loaded>
      <FailedRuns runs={runs} />
    </Screen>
  );
}
