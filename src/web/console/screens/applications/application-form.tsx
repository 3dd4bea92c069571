import { useState } from "react";
import { type DraftFormProps, EntityForm } from "../../components/entity-form.js";
import { Choice, NameField } from "../../components/field.js";
import { FormActions } from "../../components/form-actions.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { useUnsaved } from "../../use-unsaved.js";
import { type ApplicationDraft, type ApplicationType, withType } from "./application-draft.js";
import { DraftCheck } from "./draft-check.js";
import { PageProperties } from "./page-properties.js";
import { PermissionBoxes } from "./permission-boxes.js";
import { RuleList } from "./rule-list.js";
import { templatesOfText } from "./token-templates.js";

interface ApplicationFormProps extends DraftFormProps<ApplicationDraft> {
  readonly submitText: string;
  /** Whether the type can still be chosen. Default: true. */
  readonly isNew?: boolean;
}

const TYPES: readonly (readonly [ApplicationType, string])[] = [
  ["private", "Private: a program on a server"],
  ["public", "Public: a web page or an app, which can only create tokens"],
  ["management", "Management: administers the tenant"],
];

/** The fields that say themselves what is wrong. */
function isShown(field: string): boolean {
  return /^(?:name|allowed_origins|rules\[\d+\]\.container)$/.test(field);
}

export function ApplicationForm(props: ApplicationFormProps) {
  const { initial, submitText, change, onSubmit, onCancel, check, isNew = true } = props;
  const [draft, set, replace] = useDraft(initial);
  useUnsaved(draft);
  const [hasPlain, setPlain] = useState(initial.permissions.length > 0);
  const save = () => {
    // A field says what is wrong with its templates.
    if (templatesOfText(draft.templates) !== undefined) onSubmit(draft);
  };
  const { problem } = change;
  return (
    <EntityForm problem={problem} isShown={isShown} check={check} save={save}>
      <NameField {...bindFields(draft, set, problem)("name")} />
      {isNew && (
        <Choice label="Type" value={draft.type} options={TYPES} onChange={(type) => replace(withType(draft, type))} />
      )}
      {draft.type !== "management" && (
        <RuleList rules={draft.rules} onChange={set("rules")} problem={problem} type={draft.type} />
      )}
      {hasPlain || draft.type === "management" ? (
        <PermissionBoxes
          legend="Permissions without a rule"
          type={draft.type}
          chosen={draft.permissions}
          onChange={set("permissions")}
        />
      ) : (
        <button type="button" onClick={() => setPlain(true)}>
          Add permissions that need no rule
        </button>
      )}
      {draft.type === "public" && <PageProperties draft={draft} set={set} problem={problem} />}
      <DraftCheck draft={draft} />
      <FormActions submitText={submitText} isDisabled={change.isPending} onCancel={onCancel} />
    </EntityForm>
  );
}
