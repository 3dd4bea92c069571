import { Fault, invalidFields } from "../base/fault.js";
import type { Json } from "../base/json.js";
import type { TokenType } from "./types/token-type.js";

/** The token type of each field that holds data in a message of its own. */
const TYPE_OF = { card_data: "card", bank_data: "bank" } as const;

/** A field of a request that belongs to one token type. */
export type TypedDataField = keyof typeof TYPE_OF;

/** The fields of a request that may hold a token's data. */
export const DATA_FIELDS = ["data", "card_data", "bank_data"] as const satisfies ("data" | TypedDataField)[];
export type DataField = (typeof DATA_FIELDS)[number];

/** @throws {Fault} validation_failed, naming fields as the caller sent them; also for a field of another type. */
export function normalizeData(type: TokenType, data: Json, field: DataField = "data"): Json {
  if (field === "data") return type.normalize(data);
  if (type.name !== TYPE_OF[field]) {
    throw invalidFields({
      [field]: [`is for tokens of the type ${TYPE_OF[field]}, and this one's type is ${type.name}`],
    });
  }
  try {
    return type.normalize(data);
  } catch (error) {
    throw error instanceof Fault && error.fields ? renamed(error.fields, field) : error;
  }
}

function renamed(fields: NonNullable<Fault["fields"]>, to: DataField): Fault {
  const entries = Object.entries(fields);
  return invalidFields(Object.fromEntries(entries.map(([name, texts]) => [name.replace(/^data\b/, to), texts])));
}
