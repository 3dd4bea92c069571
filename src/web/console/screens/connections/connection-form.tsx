import { useState } from "react";
import type { ConnectionFormula, ConnectionFormulaField } from "#client/proto/cloakroom/v1/connections_pb.js";
import { type DraftFormProps, EntityForm } from "../../components/entity-form.js";
import { Choice, NameField, TextArea, TextField } from "../../components/field.js";
import { FormActions } from "../../components/form-actions.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { useUnsaved } from "../../use-unsaved.js";
import { type ConnectionDraft, filledKeys } from "./connection-draft.js";

interface ConnectionFormProps extends DraftFormProps<ConnectionDraft> {
  readonly formula: ConnectionFormula;
  /** Whether the connection is stored already, with fields that the page does not see. */
  readonly isStored: boolean;
}

const OWN = /^(?:display_name$|accepted_countries|accepted_currencies|fields\[\d+\]\.value$)/;

/** The account at a payment service, with the fields that the service asks for. */
export function ConnectionForm({ formula, initial, isStored, change, onSubmit, check, onCancel }: ConnectionFormProps) {
  const [draft, set] = useDraft(initial);
  useUnsaved(draft);
  const [sent, setSent] = useState<readonly string[]>([]);
  const { problem } = change;
  const save = () => {
    setSent(filledKeys(formula, draft.fields));
    onSubmit(draft);
  };
  const field = bindFields(draft, set, problem);
  const problemOf = (key: string) => problem?.fields.get(`fields[${sent.indexOf(key)}].value`);
  return (
    <EntityForm problem={problem} isShown={(name) => OWN.test(name)} check={check} save={save}>
      <NameField {...field("displayName")} />
      <fieldset>
        <legend>Account at {formula.displayName}</legend>
        {isStored && (
          <p className="help">
            The vault shows none of these. A secret that you leave empty stays; enter all others again: one that you
            leave empty is removed.
          </p>
        )}
        {formula.fields.map((asked) => (
          <AccountField
            key={asked.key}
            field={asked}
            isStored={isStored}
            problem={problemOf(asked.key)}
            value={draft.fields[asked.key] ?? ""}
            onChange={(value) => set("fields")({ ...draft.fields, [asked.key]: value })}
          />
        ))}
      </fieldset>
      <TextArea
        label="Countries"
        {...field("acceptedCountries")}
        rows={2}
        help="Of the payments that it takes, by codes of ISO 3166, separated by blanks."
      />
      <TextArea
        label="Currencies"
        {...field("acceptedCurrencies")}
        rows={3}
        help="By codes of ISO 4217, separated by blanks."
      />
      <div className="checks">
        <label>
          <input type="checkbox" checked={draft.isActive} onChange={() => set("isActive")(!draft.isActive)} />
          Takes payments
        </label>
      </div>
      <FormActions
        submitText={isStored ? "Save" : "Create connection"}
        isDisabled={change.isPending}
        onCancel={onCancel}
      />
    </EntityForm>
  );
}

interface AccountFieldProps {
  readonly field: ConnectionFormulaField;
  readonly isStored: boolean;
  readonly problem: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function AccountField({ field, isStored, problem, value, onChange }: AccountFieldProps) {
  const { key, displayName: label, required, format, secret } = field;
  if (format === "boolean") {
    const options = [
      ["", "Not set"],
      ["true", "Yes"],
      ["false", "No"],
    ] as const;
    return <Choice label={label} value={value} onChange={onChange} options={options} />;
  }
  const kept = secret && isStored;
  return (
    <TextField
      label={label}
      value={value}
      onChange={onChange}
      problem={problem}
      isRequired={required && !kept}
      type={secret ? "password" : "text"}
      autoComplete={secret ? "new-password" : "off"}
      help={kept ? "Empty: stays as it is" : required ? undefined : `Optional: ${key}`}
    />
  );
}
