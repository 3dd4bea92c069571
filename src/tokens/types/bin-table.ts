import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";

/** Digits of a key: from the shortest BIN to the longest one in use. */
const SHORTEST = 6;
const LONGEST = 11;

/**
 * The operator's data about card issuers, by the first digits of their numbers. The details are returned unchanged, as
 * `enrichments.bin_details`.
 */
export class BinTable {
  readonly #entries: ReadonlyMap<string, JsonObject>;

  /**
   * @param table an object from the first 6 to 11 digits to details such as `{"card_brand": "VISA", "type": "Credit"}`.
   * @throws an Error with a message for the operator, for anything else.
   */
  constructor(table: Json) {
    if (!isJsonObject(table)) throw new Error("A BIN table must be a JSON object from first digits to details.");
    this.#entries = new Map(
      Object.entries(table).map(([digits, details]) => {
        if (!/^\d{6,11}$/.test(digits))
          throw new Error(`A BIN table must have keys of 6 to 11 digits, not "${digits}".`);
        if (!isJsonObject(details)) throw new Error(`A BIN table must have an object of details for ${digits}.`);
        return [digits, details];
      }),
    );
  }

  /** The details of the longest key that `number` begins with. */
  find(number: string): JsonObject | undefined {
    for (let length = LONGEST; length >= SHORTEST; length -= 1) {
      const details = this.#entries.get(number.slice(0, length));
      if (details !== undefined) return details;
    }
    return undefined;
  }
}
