import type { JsonObject } from "../../base/json.js";

/** What a payment service takes of metadata. */
export interface MetadataLimits {
  readonly pairs: number;
  readonly keyLength: number;
  readonly valueLength: number;
  /** Keys of another shape are left out. */
  readonly key: RegExp;
}

/**
 * The entries of a caller's metadata that a service takes: texts within its limits. The rest stays with us, since a payment
 * is not to fail for it. `own` entries come first and win.
 */
export function passedOn(
  limits: MetadataLimits,
  own: Readonly<Record<string, string | undefined>>,
  metadata: JsonObject,
): Record<string, string> {
  const ours = Object.entries(own).flatMap(([key, value]): [string, string][] =>
    value === undefined || value.length > limits.valueLength ? [] : [[key, value]],
  );
  const theirs = Object.entries(metadata).flatMap(([key, value]): [string, string][] => {
    const fits = key.length <= limits.keyLength && limits.key.test(key) && !Object.hasOwn(own, key);
    return fits && typeof value === "string" && value.length <= limits.valueLength ? [[key, value]] : [];
  });
  return Object.fromEntries([...ours, ...theirs].slice(0, limits.pairs));
}
