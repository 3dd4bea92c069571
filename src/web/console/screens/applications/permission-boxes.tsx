import { PermissionService } from "#client/proto/cloakroom/v1/applications_pb.js";
import { useRead } from "../../api/queries.js";
import { Loaded } from "../../components/loaded.js";
import type { ApplicationType } from "./application-draft.js";

interface PermissionBoxesProps {
  readonly legend: string;
  readonly type: ApplicationType;
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  /** Whether only permissions on tokens, which rules can give, are offered. Default: false. */
  readonly isOfRule?: boolean;
}

/** The permissions that an application of a type can have, to tick. */
export function PermissionBoxes({ legend, type, chosen, onChange, isOfRule = false }: PermissionBoxesProps) {
  const permissions = useRead(PermissionService.method.listPermissions, { applicationType: type });
  const toggle = (name: string) =>
    onChange(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return (
    <fieldset>
      <legend>{legend}</legend>
      <Loaded read={permissions} lines={2}>
        {({ data }) => (
          <div className="checks">
            {data
              .filter(({ type: name }) => !isOfRule || /^token:\w+$/.test(name))
              .map(({ type: name, description }) => (
                <label key={name} title={description}>
                  <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} />
                  <code>{name}</code>
                </label>
              ))}
          </div>
        )}
      </Loaded>
    </fieldset>
  );
}
