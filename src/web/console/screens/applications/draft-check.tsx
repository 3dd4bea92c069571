import { useState } from "react";
import { type ExplainAccessResponse, PermissionService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { ProblemNote } from "../../components/problem-note.js";
import { AccessTable } from "../access/access-table.js";
import { type ApplicationDraft, applicationRequestOf } from "./application-draft.js";

/** Asks the vault what rights that are not saved yet would see of a token. */
export function DraftCheck({ draft }: { draft: ApplicationDraft }) {
  const explain = useChange(PermissionService.method.explainAccess);
  const [place, setPlace] = useState("/");
  const [found, setFound] = useState<ExplainAccessResponse | undefined>();
  if (!explain.isAllowed) return null;
  const ask = () => {
    const { permissions, rules } = applicationRequestOf(draft);
    const isContainer = place.startsWith("/");
    explain.run(
      {
        ...(isContainer ? { containers: [place] } : { tokenId: place }),
        draft: { type: draft.type, permissions, rules },
      },
      setFound,
    );
  };
  return (
    <fieldset>
      <legend>What would it see?</legend>
      <div className="filters">
        <TextField label="Container, or the id of a token" value={place} onChange={setPlace} />
        <button type="button" disabled={explain.isPending} onClick={ask}>
          Try these rights
        </button>
      </div>
      {explain.problem && <ProblemNote key={explain.problem.message} problem={explain.problem} />}
      {found && !explain.problem && (
        <AccessTable found={found} permission="token:read" containers={place.startsWith("/") ? [place] : []} />
      )}
    </fieldset>
  );
}
