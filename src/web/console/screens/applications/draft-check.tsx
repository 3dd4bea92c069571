import { useState } from "react";
import { type ExplainAccessResponse, PermissionService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useChange } from "../../api/queries.js";
import { TextField } from "../../components/field.js";
import { ProblemNote } from "../../components/problem-note.js";
import { AccessTable } from "../access/access-table.js";
import { type ApplicationDraft, applicationRequest } from "./application-draft.js";

/** Asks the vault what rights that are not saved yet would see of a token. */
export function DraftCheck({ draft }: { draft: ApplicationDraft }) {
  const explain = useChange(PermissionService.method.explainAccess);
  const [subject, setSubject] = useState("/");
  const [found, setFound] = useState<ExplainAccessResponse | undefined>();
  if (!explain.isAllowed) return null;
  const ask = () => {
    const { permissions, rules } = applicationRequest(draft);
    const isContainer = subject.startsWith("/");
    explain.run(
      {
        ...(isContainer ? { containers: [subject] } : { tokenId: subject }),
        draft: { type: draft.type, permissions, rules },
      },
      setFound,
    );
  };
  return (
    <fieldset>
      <legend>What would it see?</legend>
      <div className="filters">
        <TextField label="Container, or the id of a token" value={subject} onChange={setSubject} />
        <button type="button" disabled={explain.isPending} onClick={ask}>
          Try these rights
        </button>
      </div>
      {explain.problem && <ProblemNote key={explain.problem.message} problem={explain.problem} />}
      {found && !explain.problem && (
        <AccessTable found={found} permission="token:read" containers={subject.startsWith("/") ? [subject] : []} />
      )}
    </fieldset>
  );
}
