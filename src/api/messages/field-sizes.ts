import { type DescField, getOption } from "@bufbuild/protobuf";
import { field as rulesOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

const known = new WeakMap<DescField, number>();

/** The most entries of a list or map, from its proto. */
export function maxEntriesOf(field: DescField): number {
  const most = known.get(field) ?? readMaxEntries(field);
  known.set(field, most);
  return most;
}

function readMaxEntries(field: DescField): number {
  const { type } = getOption(field, rulesOption);
  switch (type.case) {
    case "repeated":
      return type.value.maxItems === 0n ? Number.POSITIVE_INFINITY : Number(type.value.maxItems);
    case "map":
      return type.value.maxPairs === 0n ? Number.POSITIVE_INFINITY : Number(type.value.maxPairs);
    default:
      return Number.POSITIVE_INFINITY;
  }
}

/** The error for a list or map with more entries. */
export function tooManyEntries(most: number): string {
  return `must have at most ${most} entries`;
}
