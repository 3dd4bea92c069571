import { create, type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { RestFieldSchema, rest } from "../../../gen/cloakroom/v1/options_pb.js";
import { rememberEach } from "../../base/remember-each.js";

const WITHOUT_OPTION = create(RestFieldSchema);
const restOption = rememberEach((field: DescField) =>
  hasOption(field, rest) ? getOption(field, rest) : WITHOUT_OPTION,
);

/** The name of a field in REST's JSON: its proto name, unless the proto says otherwise. */
export function restName(field: DescField): string {
  return restOption(field).name || field.name;
}

export function restFields({ fields }: DescMessage): readonly DescField[] {
  return fields.filter((field) => !restOption(field).rpcOnly);
}

/** Whether responses always have a field whose type could be unset. */
export function isAlwaysSet(field: DescField): boolean {
  return restOption(field).always;
}

/** Whether REST leaves the list or map out while it is empty. */
export function omitsEmpty(field: DescField): boolean {
  return restOption(field).omitEmpty;
}
