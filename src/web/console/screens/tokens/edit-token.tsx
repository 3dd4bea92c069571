import { type FormEvent, useState } from "react";
import { type Token, TokenService } from "#client/proto/cloakroom/v1/tokens_pb.js";
import { useChange } from "../../api/queries.js";
import { Overlay } from "../../components/overlay.js";
import { ProblemNote } from "../../components/problem-note.js";
import { useDraft } from "../../use-draft.js";
import { isPropertyField, PropertyFields } from "./property-fields.js";
import { hasPlainMetadata, propertiesOf, updateRequestOf } from "./token-draft.js";

/** A button to change what stands beside a token's value. */
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
  const [draft, set] = useDraft(propertiesOf(token));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    update.run(updateRequestOf(token, draft), onClose);
  };
  const close = () => {
    update.cancel();
    onClose();
  };
  return (
    <Overlay title="Edit this token" onClose={close}>
      <form className="form" onSubmit={submit}>
        {update.problem && <ProblemNote problem={update.problem} isShown={isPropertyField} />}
        <PropertyFields {...{ draft, set, problem: update.problem }} hasMetadata={hasPlainMetadata(token)} />
        <div className="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={update.isPending}>
            Save
          </button>
        </div>
      </form>
    </Overlay>
  );
}
