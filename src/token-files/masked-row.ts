import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { passesLuhn } from "../base/luhn.js";

/** Texts and structures of a row that are safe to show. */
export interface MaskedRow {
  readonly line: number;
  readonly type?: Json;
  readonly data?: string;
  readonly containers?: Json;
  readonly metadata?: string;
  /** The other fields that the row sets, such as its mask, which decides what others see. */
  readonly also?: string;
  readonly problem?: string;
}

/** A row as a dry run shows it. Data shows how it is built, and the last four digits of a card number. */
export function shownMasked(line: number, row: JsonObject): MaskedRow {
  const { type, data = null, containers, metadata, ...also } = row;
  const problem = problemOf(row);
  return {
    line,
    type: hidden(type ?? null),
    data: JSON.stringify(masked(data, "data")),
    ...(containers === undefined ? {} : { containers: hidden(containers) }),
    ...(metadata === undefined ? {} : { metadata: JSON.stringify(hidden(metadata)) }),
    ...(Object.keys(also).length === 0 ? {} : { also: JSON.stringify(hidden(also)) }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** What the vault would certainly object to. All else is left to the import. */
function problemOf({ type, data = null }: JsonObject): string | undefined {
  if (typeof type !== "string") return "type must be given";
  if (data === null) return "data must be given";
  if (type !== "card" || !isJsonObject(data)) return undefined;
  if (data.cvc !== undefined) return "data.cvc must be left out: verification codes are not imported";
  const { number } = data;
  const isCardNumber = typeof number === "string" && /^\d{13,19}$/.test(number) && passesLuhn(number);
  return isCardNumber ? undefined : "data.number must be a card number with a valid check digit";
}

function masked(value: Json, place: string): Json {
  if (Array.isArray(value)) return value.map((item) => masked(item, place));
  if (isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [hiddenText(name), masked(field, `${place}.${name}`)]),
    );
  }
  if (value === null || typeof value === "boolean") return value;
  const text = String(value);
  const shows = place === "data.number" && text.length >= 12 ? 4 : 0;
  return `${"X".repeat(Math.min(text.length - shows, 20))}${text.slice(text.length - shows)}`;
}

/** Values that are no secret may still be one that is in the wrong column. */
function hidden(value: Json): Json {
  if (typeof value === "string" || typeof value === "number") return hiddenText(String(value));
  if (Array.isArray(value)) return value.map(hidden);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [hiddenText(name), hidden(field)]));
}

/** A text with no more than eight digits in a row, however they are grouped. */
export function hiddenText(text: string): string {
  return text.replaceAll(/\d(?:[\s.-]{0,2}\d){8,}/g, (digits) => "X".repeat(digits.length));
}
