import { UsageError } from "../usage-error.js";

/** A name, an index or `[]`, which stands for each item of a list. */
const STEP = /^(?:\.?([A-Za-z_][\w-]*)|\[(\d*)\])/;

/** @throws {UsageError} for a path that cannot be read. */
export function checkPath(path: string): void {
  if (path === "" || path === ".") return;
  const [step] = STEP.exec(path) ?? [];
  if (step === undefined) throw new UsageError("--query must be a path such as id, card.last4, [0].id or [].id.");
  checkPath(path.slice(step.length));
}

/**
 * The part of a command's result that a path names: `card.last4`, `[0].id`, `[].id`. Undefined for a missing part.
 * @throws {UsageError} for a path that cannot be read, and for a name where the result is a list.
 */
export function partOfResult(result: unknown, path: string): unknown {
  checkPath(path);
  const [, name] = STEP.exec(path) ?? [];
  if (name !== undefined && Array.isArray(result)) {
    throw new UsageError(
      `The result is a list: --query '[].${name}' prints ${name} of each item, '[0].${name}' of the first.`,
    );
  }
  return partAt(result, path);
}

/** The step of a path at which a result ends, such as `nope` of `nope.x`; undefined for a path that leads to a value. */
export function missingStep(result: unknown, path: string, passed = ""): string | undefined {
  const [step] = STEP.exec(path) ?? [];
  if (step === undefined || step === "[]") return undefined;
  const part = partAt(result, step);
  const place = `${passed}${step}`.replace(/^[.]/, "");
  return part === undefined ? place : missingStep(part, path.slice(step.length), place);
}

function partAt(result: unknown, path: string): unknown {
  const [step, name, index] = STEP.exec(path) ?? [];
  if (step === undefined) return result;
  const rest = path.slice(step.length);
  if (name !== undefined) return partAt(memberOf(result, name), rest);
  const list: readonly unknown[] = Array.isArray(result) ? result : [];
  if (index !== undefined && index !== "") return partAt(list[Number(index)], rest);
  return list.map((item) => partAt(item, rest));
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}
