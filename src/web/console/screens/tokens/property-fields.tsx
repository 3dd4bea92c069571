import { TextArea, TextField } from "../../components/field.js";
import type { BoundField } from "../../use-draft.js";
import type { TokenProperties } from "./token-draft.js";

interface PropertyFieldsProps {
  readonly field: (name: keyof TokenProperties) => BoundField<string>;
  /** Whether lines can have the metadata. Default: true. */
  readonly hasMetadata?: boolean;
}

const OWN = /^(?:containers|metadata|expires_at)(?:[.[]|$)/;

/** Whether one of these fields says what is wrong. */
export function isPropertyField(field: string): boolean {
  return OWN.test(field);
}

/** What people may change of a token: never its value. */
export function PropertyFields({ field, hasMetadata = true }: PropertyFieldsProps) {
  return (
    <>
      <TextField
        label="Containers"
        {...field("containers")}
        placeholder="/pci/high/"
        help="Paths, separated by blanks. Access rules decide by them."
      />
      {hasMetadata ? (
        <TextArea
          label="Metadata"
          {...field("metadata")}
          rows={3}
          help="A line name=value for each entry. Everybody who sees the token sees it: nothing sensitive."
        />
      ) : (
        <p className="help">The metadata has names or values that lines cannot hold: only the API changes it.</p>
      )}
      <TextField label="Deleted at (your time)" {...field("expiresAt")} type="datetime-local" help="Empty: never" />
    </>
  );
}
