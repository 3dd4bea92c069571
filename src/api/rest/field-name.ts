import { type DescField, type DescMessage, getOption } from "@bufbuild/protobuf";
import { rest } from "../../../gen/cloakroom/v1/options_pb.js";

/** The name of a field in REST's JSON: its proto name, unless the proto says otherwise. */
export function restName(field: DescField): string {
  return getOption(field, rest).name || field.name;
}

export function restFields({ fields }: DescMessage): readonly DescField[] {
  return fields.filter((field) => !getOption(field, rest).rpcOnly);
}

/** Whether responses always have a field whose type could be unset. */
export function isAlwaysSet(field: DescField): boolean {
  return getOption(field, rest).always;
}

/** Whether REST leaves the list or map out while it is empty. */
export function omitsEmpty(field: DescField): boolean {
  return getOption(field, rest).omitEmpty;
}
