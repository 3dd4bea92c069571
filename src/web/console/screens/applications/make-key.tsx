import { ApplicationKeyService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { FormDialog } from "../../components/form-dialog.js";
import { useDraft } from "../../use-draft.js";

interface MakeKeyProps {
  readonly applicationId: string;
  /** Gets the key's value, which nothing shows again. */
  readonly onMade: (secret: string | undefined) => void;
  readonly onClose: () => void;
}

const FIELDS = ["name", "owner", "expires_at"];

/** Makes a key, with what people will want to know of it later. */
export function MakeKey({ applicationId: id, onMade, onClose }: MakeKeyProps) {
  const create = useChange(ApplicationKeyService.method.createApplicationKey);
  const [draft, set] = useDraft({ name: "", owner: "", expiry: "" });
  const given = (text: string) => (text.trim() === "" ? undefined : text.trim());
  const submit = () => {
    const [name, owner] = [given(draft.name), given(draft.owner)];
    const expiresAt = draft.expiry === "" ? undefined : new Date(draft.expiry).toISOString();
    const details = {
      ...(name === undefined ? {} : { name }),
      ...(owner === undefined ? {} : { owner }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    };
    create.run({ id, ...details }, ({ key }) => {
      onMade(key);
      onClose();
    });
  };
  const fieldProblem = (field: string) => create.problem?.fields.get(field);
  return (
    <FormDialog
      title="New key"
      action="Create key"
      change={create}
      isShown={(field) => FIELDS.includes(field)}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={draft.name}
        onChange={set("name")}
        placeholder="production 2"
        problem={fieldProblem("name")}
      />
      <TextField
        label="Owner"
        value={draft.owner}
        onChange={set("owner")}
        help="Who answers for it: a person, a team or a system"
        problem={fieldProblem("owner")}
      />
      <TextField
        label="Expires (your time)"
        type="datetime-local"
        value={draft.expiry}
        onChange={set("expiry")}
        help="Empty: never. From then on it is refused."
        problem={fieldProblem("expires_at")}
      />
    </FormDialog>
  );
}
