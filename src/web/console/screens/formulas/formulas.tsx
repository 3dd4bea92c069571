import { Link, useSearchParams } from "wouter";
import { type ReactorFormula, ReactorFormulaService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useRead } from "../../api/queries.js";
import { DeleteEntity } from "../../components/delete-entity.js";
import { CHANGED, CREATED, EntityList } from "../../components/entity-list.js";
import { Loaded, Permitted } from "../../components/loaded.js";
import { usePageNumber } from "../../components/pages.js";
import { Screen } from "../../components/screen.js";
import { DetailList, Table } from "../../components/table.js";
import { CodeSample, WholeId } from "../../components/text.js";
import { useSession } from "../../session.js";
import { fitsLines, type LineParts } from "./formula-draft.js";
import { FormulaEditor } from "./formula-editor.js";

const CREATE = "ReactorFormulaService/CreateReactorFormula";

/** Code that several reactors share, with what each of them must set. */
export default function Formulas() {
  const [params] = useSearchParams();
  const id = params.get("id");
  if (params.has("new")) return <NewFormula />;
  return id === null ? <FormulaList /> : <FormulaDetails key={id} id={id} />;
}

function FormulaList() {
  const formulas = useRead(ReactorFormulaService.method.listReactorFormulas, { page: usePageNumber(), size: 50 });
  return (
    <EntityList
      title="Formulas"
      path="/formulas"
      list={formulas}
      page={formulas.data?.pagination}
      add={{ operation: CREATE, text: "New formula" }}
      purpose="There are no formulas. A formula is code that several reactors share, each with a configuration of its own."
      nameOf={({ name }) => name}
      columns={[
        { head: "Kind", cell: ({ type, status }) => (status === "coming_soon" ? `${type}, coming soon` : type) },
        CREATED,
        CHANGED,
      ]}
    />
  );
}

function NewFormula() {
  return (
    <Screen title="New formula">
      <Permitted operation={CREATE}>
        <FormulaEditor formula={undefined} />
      </Permitted>
    </Screen>
  );
}

function FormulaDetails({ id }: { id: string }) {
  const { can, mayChange } = useSession();
  const formula = useRead(ReactorFormulaService.method.getReactorFormula, { id });
  const isOwn = formula.data?.type === "private";
  const actions = formula.data && (
    <>
      {can("ReactorService/CreateReactor") && formula.data.status === "verified" && (
        <Link href={`/reactors?${new URLSearchParams({ new: "1", formula: id })}`} className="button primary">
          New reactor of it
        </Link>
      )}
      {isOwn && mayChange(formula.data.createdBy) && (
        <DeleteEntity
          method={ReactorFormulaService.method.deleteReactorFormula}
          request={{ id }}
          kind="formula"
          list="/formulas"
        >
          A formula that reactors use is not deleted: delete them first.
        </DeleteEntity>
      )}
    </>
  );
  return (
    <Screen title={formula.data?.name ?? "Formula"} actions={actions}>
      <Loaded read={formula} lines={10}>
        {(found) => {
          const why = whyReadOnly(
            found,
            can("ReactorFormulaService/ReplaceReactorFormula") && mayChange(found.createdBy),
          );
          return why === undefined ? <FormulaEditor formula={found} /> : <ReadFormula formula={found} why={why} />;
        }}
      </Loaded>
    </Screen>
  );
}

function whyReadOnly(formula: ReactorFormula, mayReplace: boolean): string | undefined {
  // These are the same for all tenants.
  if (formula.type !== "private") {
    return "This formula is the operator's: reactors can use it, and no tenant can change it.";
  }
  if (!mayReplace) return "OWNER, ADMIN and the DEVELOPER who created this formula can change it.";
  if (!fitsLines(formula)) return "This formula has descriptions that lines cannot hold: only the API changes it.";
  return undefined;
}

function ReadFormula({ formula, why }: { readonly formula: ReactorFormula; readonly why: string }) {
  const { id, description, code, configuration, requestParameters } = formula;
  return (
    <>
      <p className="note">{why}</p>
      <DetailList
        pairs={[
          ["Description", description],
          ["Id", <WholeId key="id">{id}</WholeId>],
        ]}
      />
      <Entries label="Configuration" entries={configuration} />
      <Entries label="Arguments" entries={requestParameters} />
      <CodeSample label="Code" code={code} />
    </>
  );
}

function Entries({ label, entries }: { label: string; entries: readonly LineParts[] }) {
  if (entries.length === 0) return null;
  return (
    <section>
      <h2>{label}</h2>
      <Table
        label={label}
        rows={entries}
        keyOf={({ name }) => name}
        columns={[
          { head: "Name", cell: ({ name }) => <code>{name}</code> },
          { head: "Type", cell: ({ type, optional }) => (optional ? `${type}, may be absent` : type) },
          { head: "Meaning", cell: ({ description }) => description },
        ]}
      />
    </section>
  );
}
