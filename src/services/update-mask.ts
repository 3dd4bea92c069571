import type { DescMessage } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { invalid } from "../base/fault.js";

/**
 * The fields that a patch changes, by their names in the protos.
 * @throws {Fault} validation_failed naming `update_mask`, if it names anything but whole fields of the request. A path
 * into a field is not supported, and must not look as if it had been applied.
 */
export function fieldsToChange(request: DescMessage, mask: FieldMask | undefined): ReadonlySet<string> {
  const paths = mask?.paths ?? [];
  const isField = (path: string) => request.fields.some(({ name }) => name === path && name !== "update_mask");
  if (!paths.every(isField)) throw invalid("update_mask", "must name whole fields of the request");
  return new Set(paths);
}
