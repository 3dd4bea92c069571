import type { Json, JsonObject } from "../../../src/base/json.js";
import { isJsonObject } from "../../../src/base/json.js";

/** Parses `a[b][0]=c`, as Stripe's forms nest: every leaf is a string, a level with only digits is a list. */
export function readForm(body: string): JsonObject {
  const root: JsonObject = {};
  for (const [name, value] of new URLSearchParams(body)) {
    const steps = name.split(/\[|\]\[|\]/).filter((step) => step !== "");
    place(root, steps, value);
  }
  return withLists(root);
}

function place(target: JsonObject, [step, ...rest]: readonly string[], value: string): void {
  if (step === undefined) return;
  if (rest.length === 0) {
    target[step] = value;
    return;
  }
  const inner = target[step];
  const next: JsonObject = isJsonObject(inner) ? inner : {};
  target[step] = next;
  place(next, rest, value);
}

function withLists(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]): [string, Json] => [key, listed(value)]));
}

function listed(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const inner = withLists(value);
  const keys = Object.keys(inner);
  return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? Object.values(inner) : inner;
}

/** A text at a path, or undefined. */
export function at(value: Json | undefined, ...steps: readonly (string | number)[]): Json | undefined {
  let current = value;
  for (const step of steps) {
    if (Array.isArray(current)) current = current[Number(step)];
    else if (isJsonObject(current)) current = current[step];
    else return undefined;
  }
  return current;
}

export function textAt(value: Json | undefined, ...steps: readonly (string | number)[]): string | undefined {
  const found = at(value, ...steps);
  return typeof found === "string" ? found : undefined;
}
