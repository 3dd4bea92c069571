import { type ReactNode, useDeferredValue, useState } from "react";
import { type Application, ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useRead } from "../api/queries.js";
import { Choice, TextField } from "../components/field.js";

/** What a list takes at once. Where there are more, a part of the name finds the others. */
const SIZE = 100;

interface ApplicationChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** The text of the choice of none. */
  readonly none: string;
  readonly help: ReactNode;
  /** In place of `help` where no application can be chosen. */
  readonly helpWithout?: string;
  /** Only these types. Default: all. */
  readonly types?: readonly string[];
  /** Which applications can be chosen. Default: all. */
  readonly accepts?: (application: Application) => boolean;
}

/** One of the tenant's applications, however many there are. */
export function ApplicationChoice(props: ApplicationChoiceProps) {
  const { label, value, onChange, none, help, helpWithout = help, types = [], accepts = () => true } = props;
  const [part, setPart] = useState("");
  const name = useDeferredValue(part.trim());
  const listing = { type: [...types], size: SIZE, sort: "name", ...(name === "" ? {} : { name }) };
  const applications = useRead(ApplicationService.method.listApplications, listing);
  const [hasMore, setMore] = useState(false);
  const total = applications.data?.pagination?.totalItems ?? 0;
  if (total > SIZE && !hasMore) setMore(true);
  const found = (applications.data?.data ?? []).filter(accepts).map((one): [string, string] => [one.id, one.name]);
  const isListed = value === "" || found.some(([id]) => id === value);
  const hasNone = applications.data !== undefined && found.length === 0 && name === "" && total <= SIZE;
  const options: [string, string][] = [["", none], ...found, ...(isListed ? [] : [unnamedOption(value)])];
  return (
    <>
      {hasMore && (
        <TextField
          label={`Find: ${label.toLowerCase()}`}
          value={part}
          onChange={setPart}
          placeholder="part of a name"
          help={total > SIZE ? `The first ${SIZE} of ${total} by name are listed below.` : `${total} are listed below.`}
        />
      )}
      <Choice label={label} value={value} options={options} onChange={onChange} help={hasNone ? helpWithout : help} />
    </>
  );
}

function unnamedOption(id: string): [string, string] {
  return [id, id];
}
