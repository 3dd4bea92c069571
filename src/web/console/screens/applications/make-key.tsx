import { ApplicationKeyService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { FormDialog } from "../../components/form-dialog.js";
import { bindFields, useDraft } from "../../use-draft.js";

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
  const [draft, set] = useDraft({ name: "", owner: "", expiresAt: "" });
  const given = (text: string) => (text.trim() === "" ? undefined : text.trim());
  const submit = () => {
    const [name, owner] = [given(draft.name), given(draft.owner)];
    const expiresAt = draft.expiresAt === "" ? undefined : new Date(draft.expiresAt).toISOString();
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
  const field = bindFields(draft, set, create.problem);
  return (
    <FormDialog
      title="New key"
      action="Create key"
      change={create}
      isShown={(name) => FIELDS.includes(name)}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" {...field("name")} placeholder="production 2" />
      <TextField label="Owner" {...field("owner")} help="Who answers for it: a person, a team or a system" />
      <TextField
        label="Expires (your time)"
        type="datetime-local"
        {...field("expiresAt")}
        help="Empty: never. From then on it is refused."
      />
    </FormDialog>
  );
}
