const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** 33 bytes in base58. */
const FINGERPRINT = /"fingerprint":"[1-9A-HJ-NP-Za-km-z]{44,46}"/g;

/**
 * A text, or the JSON of another value, without UUIDs, times and fingerprints. A search for the few digits of a secret
 * would find them there by chance: four hexadecimal digits in one UUID of 3,000.
 */
export function withoutIds(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.replaceAll(UUID, "").replaceAll(TIME, "").replaceAll(FINGERPRINT, "");
}
