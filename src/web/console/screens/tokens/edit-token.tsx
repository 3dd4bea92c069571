import { useState } from "react";
import { type Token, TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useChange } from "../../api/queries.js";
import { FormDialog } from "../../components/form-dialog.js";
import { bindFields, useDraft } from "../../use-draft.js";
import { isPropertyField, PropertyFields } from "./property-fields.js";
import { hasPlainMetadata, tokenProperties, tokenUpdate } from "./token-draft.js";

export function EditToken({ token }: { token: Token }) {
  const [isOpen, setOpen] = useState(false);
  const { isAllowed } = useChange(TokenService.method.updateToken);
  if (!isAllowed) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Edit
      </button>
      {isOpen && <TokenProperties token={token} onClose={() => setOpen(false)} />}
    </>
  );
}

function TokenProperties({ token, onClose }: { token: Token; onClose: () => void }) {
  const update = useChange(TokenService.method.updateToken);
  const [draft, set] = useDraft(tokenProperties(token));
  return (
    <FormDialog
      title="Edit this token"
      action="Save"
      change={update}
      isShown={isPropertyField}
      onSubmit={() => update.run(tokenUpdate(token, draft), onClose)}
      onClose={onClose}
    >
      <PropertyFields field={bindFields(draft, set, update.problem)} hasMetadata={hasPlainMetadata(token)} />
    </FormDialog>
  );
}
