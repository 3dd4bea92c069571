import { invalid } from "../base/fault.js";
import { isJsonObject, type Json } from "../base/json.js";
import { namesCode } from "../expressions/code-names.js";
import type { TokenDraft } from "./token.js";

/** What is expected of a field with such a name. */
export const NO_CODE =
  "must not hold a verification code: only data.cvc of a card may, where it is deleted after an hour";

/** @throws {Fault} validation_failed naming the first place of a verification code that would be kept for ever. */
export function requireNoCodeName(name: string, place: string): void {
  if (namesCode(name)) throw invalid(place, NO_CODE);
}

/** The same, for the data of a token. */
export function requireNoCodeIn({ type, data, dataField = "data" }: TokenDraft): void {
  const isCard = type === "card" && isJsonObject(data);
  visit(isCard ? { ...data, cvc: null } : data, dataField);
}

function visit(data: Json, place: string): void {
  if (typeof data !== "object" || data === null) return;
  if (Array.isArray(data)) {
    for (const [index, item] of data.entries()) visit(item, `${place}[${index}]`);
    return;
  }
  for (const [name, item] of Object.entries(data)) {
    if (item !== null) requireNoCodeName(name, `${place}.${name}`);
    visit(item, `${place}.${name}`);
  }
}
