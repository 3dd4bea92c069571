import { ApplicationService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useRead } from "../../api/queries.js";
import { Choice } from "../../components/field.js";

interface ApplicationChoiceProps {
  readonly value: string;
  readonly onChange: (id: string) => void;
}

export function ApplicationChoice({ value, onChange }: ApplicationChoiceProps) {
  const applications = useRead(ApplicationService.method.listApplications, { type: ["private", "public"], size: 100 });
  const found = (applications.data?.data ?? []).map(({ id, name }): [string, string] => [id, name]);
  const isListed = value === "" || found.some(([id]) => id === value);
  const options: [string, string][] = [["", "None: no req.bt"], ...found, ...(isListed ? [] : [unnamedOption(value)])];
  return (
    <Choice
      value={value}
      onChange={onChange}
      options={options}
      label="Acts as application"
      help="req.bt has its permissions. One that reveals or uses values needs your passkey."
    />
  );
}

function unnamedOption(id: string): [string, string] {
  return [id, id];
}
