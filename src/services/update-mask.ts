import type { DescMessage } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { invalid } from "../base/fault.js";

/**
 * The fields that a patch changes, by their names in the protos.
 * @throws {Fault} validation_failed naming `update_mask`, where it names anything but whole fields of the request: a
 * path into a field, which is never followed, would look as if it had been.
 */
export function fieldsToChange(request: DescMessage, mask: FieldMask | undefined): ReadonlySet<string> {
  const paths = mask?.paths ?? [];
  const isField = (path: string) => request.fields.some(({ name }) => name === path && name !== "update_mask");
  if (!paths.every(isField)) throw invalid("update_mask", "must name whole fields of the request");
  return new Set(paths);
}
