import { fromBase62, toBase62 } from "./base-n.js";
import { isUuid, type Uuid } from "./ids.js";

/** 62 to the power of 22 is the first above 2 to the power of 128. */
const CHARACTERS = 22;

/** A UUID as 22 letters and digits, the form used in keys and links. */
export function compactUuid(id: Uuid): string {
  return toBase62(Buffer.from(id.replaceAll("-", ""), "hex"), CHARACTERS);
}

/** Reads what {@link compactUuid} wrote. Returns undefined for anything else, also for fewer or more leading zeros. */
export function expandUuid(text: string): Uuid | undefined {
  if (text.length !== CHARACTERS) return undefined;
  const hex = fromBase62(text, 16)?.toString("hex");
  if (!hex) return undefined;
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  return isUuid(id) ? id : undefined;
}
