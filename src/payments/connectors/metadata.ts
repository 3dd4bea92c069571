import type { JsonObject } from "../../base/json.js";

export interface MetadataLimits {
  readonly pairs: number;
  readonly keyLength: number;
  readonly valueLength: number;
  /** Keys that do not match are left out. */
  readonly key: RegExp;
}

/**
 * The entries of a caller's metadata that a service accepts: strings within its limits. Other entries are not sent,
 * because a payment must not fail for them. `own` entries come first and take precedence.
 */
export function acceptedMetadata(
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
