import { type CreateTokenRequestSchema, type TokenSchema, TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { problemWithin } from "../../api/problem-within.js";
import { type Change, useChange } from "../../api/queries.js";
import { entityAddress } from "../../components/entity-link.js";
import { Choice, TextArea, TextField } from "../../components/field.js";
import { Form } from "../../components/form.js";
import { FormActions } from "../../components/form-actions.js";
import { Permitted } from "../../components/loaded.js";
import { ProblemNote } from "../../components/problem-note.js";
import { Screen } from "../../components/screen.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { useLeaveTo } from "../../use-leave-to.js";
import { useUnsaved } from "../../use-unsaved.js";
import { isPropertyField, PropertyFields } from "./property-fields.js";
import { emptyToken, TOKEN_TYPES, type TokenDraft, tokenCreation, valueParts } from "./token-draft.js";

/** Stores a value that a person enters. The page does not keep it. */
export function NewToken() {
  const create = useChange(TokenService.method.createToken);
  return (
    <Screen title="New token">
      <Permitted operation={create.operation}>
        <TokenForm create={create} />
      </Permitted>
    </Screen>
  );
}

type CreateChange = Change<typeof CreateTokenRequestSchema, typeof TokenSchema>;

function TokenForm({ create }: { create: CreateChange }) {
  const [draft, set, replace] = useDraft(emptyToken());
  const leaveTo = useLeaveTo();
  useUnsaved(draft);
  const { problem } = create;
  const submit = () => create.run(tokenCreation(draft), ({ id }) => leaveTo(entityAddress("/tokens", id)));
  const isShown = (field: string) => isPropertyField(field) || partProblem(draft, field);
  return (
    <Form className="form" onSubmit={submit} autoComplete="off">
      {problem && <ProblemNote key={problem.message} problem={problem} isShown={isShown} />}
      <Choice
        label="Type"
        value={draft.type}
        options={TOKEN_TYPES}
        onChange={(type) => replace({ ...emptyToken(), type, containers: draft.containers })}
        help="It decides how the value is checked and masked."
      />
      <ValueFields draft={draft} replace={replace} problem={problem} />
      <PropertyFields field={bindFields(draft, set, problem)} />
      <FormActions submitText="Create token" isDisabled={create.isPending} />
    </Form>
  );
}

/** Whether a field of the value says what is wrong with it. */
function partProblem({ type }: TokenDraft, field: string): boolean {
  const parts = valueParts(type);
  return parts.length === 0 ? field === "data" : parts.some(({ name }) => field === `data.${name}`);
}

interface ValueFieldsProps {
  readonly draft: TokenDraft;
  readonly replace: (draft: TokenDraft) => void;
  readonly problem: CreateChange["problem"];
}

function ValueFields({ draft, replace, problem }: ValueFieldsProps) {
  const parts = valueParts(draft.type);
  if (parts.length === 0) {
    return (
      <TextArea
        label="Value"
        rows={draft.type === "token" ? 4 : 1}
        value={draft.text}
        onChange={(text) => replace({ ...draft, text })}
        help={draft.type === "token" ? "A text, or JSON" : undefined}
        problem={problemWithin(problem, "data")}
      />
    );
  }
  return parts.map(({ name, label, help, isOptional = false }) => (
    <TextField
      key={name}
      label={label}
      value={draft.parts[name] ?? ""}
      isRequired={!isOptional}
      onChange={(value) => replace({ ...draft, parts: { ...draft.parts, [name]: value } })}
      help={help}
      problem={problem?.fields.get(`data.${name}`)}
    />
  ));
}
