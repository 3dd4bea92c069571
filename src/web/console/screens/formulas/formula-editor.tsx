import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { type ReactorFormula, ReactorFormulaService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { EntityForm } from "../../components/entity-form.js";
import { NameField, TextArea, TextField } from "../../components/field.js";
import { useDraft } from "../../use-draft.js";
import { CodeEditor } from "../code/code-editor.js";
import { OnlyOwn, type Saving } from "../code/code-form.js";
import { useSaving } from "../code/use-saving.js";
import { problemWithin } from "../problem-within.js";
import { type FormulaDraft, formulaRequest, openFormulaDraft } from "./formula-draft.js";

/** The fields that say themselves what is wrong. */
const OWN = /^(?:name$|description$|configuration|request_parameters)/;

export function FormulaEditor({ formula }: { formula: ReactorFormula | undefined }) {
  const [draft, set] = useDraft(openFormulaDraft(formula));
  const saving = useFormulaSaving(formula, draft);
  const { check, save, canSave, isPending, problem } = saving;
  return (
    <EntityForm problem={problem} isShown={(field) => OWN.test(field)} check={check} save={save}>
      <NameField value={draft.name} onChange={set("name")} problem={problem?.fields.get("name")} />
      <TextField
        label="Description"
        value={draft.description}
        onChange={set("description")}
        problem={problem?.fields.get("description")}
      />
      <CodeEditor label="Code" value={draft.code} onChange={set("code")} isReadOnly={!canSave} />
      <TextArea
        label="Configuration"
        value={draft.configuration}
        onChange={set("configuration")}
        rows={3}
        help="What each reactor must set: a line NAME TYPE description for each. TYPE is string, boolean or number."
        problem={problemWithin(problem, "configuration")}
      />
      <TextArea
        label="Arguments"
        value={draft.parameters}
        onChange={set("parameters")}
        rows={3}
        help="What each call must send: a line name TYPE description for each. name? may be absent; a.b is b in the object a."
        problem={problemWithin(problem, "request_parameters")}
      />
      {canSave ? (
        <div className="actions">
          <button type="submit" className="primary" disabled={isPending}>
            {formula ? "Save" : "Create formula"}
          </button>
        </div>
      ) : (
        <OnlyOwn />
      )}
    </EntityForm>
  );
}

function useFormulaSaving(formula: ReactorFormula | undefined, draft: FormulaDraft): Saving {
  const create = useChange(ReactorFormulaService.method.createReactorFormula);
  const replace = useChange(ReactorFormulaService.method.replaceReactorFormula);
  const client = createClient(ReactorFormulaService, useTransport());
  const request = formulaRequest(draft, formula?.icon);
  return useSaving({
    stored: formula,
    draft,
    page: "/formulas",
    change: formula ? replace : create,
    read: (id) => client.getReactorFormula({ id }),
    create: (onDone) => create.run(request, onDone),
    update: ({ id }, onDone) => replace.run({ ...request, id }, onDone),
  });
}
