import type { CallProblem } from "../../api/call-problem.js";
import { TextArea, TextField } from "../../components/field.js";
import { problemWithin } from "../problem-within.js";
import type { TokenProperties } from "./token-draft.js";

interface PropertyFieldsProps {
  readonly draft: TokenProperties;
  readonly set: (name: keyof TokenProperties) => (value: string) => void;
  readonly problem: CallProblem | undefined;
  /** Whether lines can have the metadata. Default: true. */
  readonly hasMetadata?: boolean;
}

const OWN = /^(?:containers|metadata|expires_at)(?:[.[]|$)/;

/** Whether one of these fields says what is wrong. */
export function isPropertyField(field: string): boolean {
  return OWN.test(field);
}

/** What people may change of a token: never its value. */
export function PropertyFields({ draft, set, problem, hasMetadata = true }: PropertyFieldsProps) {
  return (
    <>
      <TextField
        label="Containers"
        value={draft.containers}
        onChange={set("containers")}
        placeholder="/pci/high/"
        help="Paths, separated by blanks. Access rules decide by them."
        problem={problemWithin(problem, "containers")}
      />
      {hasMetadata ? (
        <TextArea
          label="Metadata"
          value={draft.metadata}
          onChange={set("metadata")}
          rows={3}
          help="A line name=value for each entry. Everybody who sees the token sees it: nothing sensitive."
          problem={problemWithin(problem, "metadata")}
        />
      ) : (
        <p className="help">The metadata has names or values that lines cannot hold: only the API changes it.</p>
      )}
      <TextField
        label="Deleted at (your time)"
        value={draft.expiresAt}
        onChange={set("expiresAt")}
        type="datetime-local"
        help="Empty: never"
        problem={problemWithin(problem, "expires_at")}
      />
    </>
  );
}
