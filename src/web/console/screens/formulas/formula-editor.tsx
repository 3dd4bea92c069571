import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { type ReactorFormula, ReactorFormulaService } from "#client/proto/cloakroom/v1/reactors_pb.js";
import { useChange } from "../../api/queries.js";
import { EntityForm } from "../../components/entity-form.js";
import { NameField, TextArea, TextField } from "../../components/field.js";
import { FormActions } from "../../components/form-actions.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { CodeEditor } from "../code/code-editor.js";
import { OnlyOwn, type Saving } from "../code/code-form.js";
import { useSaving } from "../code/use-saving.js";
import { type FormulaDraft, formulaRequest, openFormulaDraft } from "./formula-draft.js";

/** The fields that say themselves what is wrong. */
const OWN = /^(?:name$|description$|configuration|request_parameters)/;

export function FormulaEditor({ formula }: { formula: ReactorFormula | undefined }) {
  const [draft, set] = useDraft(openFormulaDraft(formula));
  const saving = useFormulaSaving(formula, draft);
  const { check, save, canSave, isPending, problem } = saving;
  const field = bindFields(draft, set, problem);
  return (
    <EntityForm problem={problem} isShown={(name) => OWN.test(name)} check={check} save={save}>
      <NameField {...field("name")} />
      <TextField label="Description" {...field("description")} />
      <CodeEditor label="Code" {...field("code")} isReadOnly={!canSave} />
      <TextArea
        label="Configuration"
        {...field("configuration")}
        rows={3}
        help="What each reactor must set: a line NAME TYPE description for each. TYPE is string, boolean or number."
      />
      <TextArea
        label="Arguments"
        {...field("requestParameters")}
        rows={3}
        help="What each call must send: a line name TYPE description for each. name? may be absent; a.b is b in the object a."
      />
      {canSave ? <FormActions submitText={formula ? "Save" : "Create formula"} isDisabled={isPending} /> : <OnlyOwn />}
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
