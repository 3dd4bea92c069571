import { UsageError } from "../command.js";

/** A name, an index or `[]`, which stands for each item of a list. */
const STEP = /^(?:\.?([A-Za-z_][\w-]*)|\[(\d*)\])/;

/**
 * The part of a JSON result that a path names: `card.last4`, `[0].id`, `[].id`. Undefined for a missing part.
 * @throws {UsageError} for a path that cannot be read.
 */
export function valueAtPath(result: unknown, path: string): unknown {
  const [step, name, index] = STEP.exec(path) ?? [];
  if (path === "" || path === ".") return result;
  if (step === undefined) {
    throw new UsageError("--query must be a path such as id, card.last4, [0].id or [].id.");
  }
  const rest = path.slice(step.length);
  if (name !== undefined) return valueAtPath(memberOf(result, name), rest);
  const list: readonly unknown[] = Array.isArray(result) ? result : [];
  if (index !== undefined && index !== "") return valueAtPath(list[Number(index)], rest);
  return list.map((item) => valueAtPath(item, rest));
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}
