import {
  type DescField,
  type DescMessage,
  fromJson,
  fromJsonString,
  type JsonReadOptions,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { FieldFaultList } from "../../base/field-fault-list.js";
import { isJsonObject, type Json } from "../../base/json.js";
import { isLarge } from "../../base/yield-to-event-loop.js";

/**
 * Reads a message from JSON over RPC; `src/api/rest/json-reader.ts` reads that of REST. The codec stops at the first
 * value of a wrong type; for messages that are not large, this names each of them.
 * @throws {Fault} validation_failed naming the fields; the codec's own error if no value is at fault, or in a large one.
 */
export function readMessageJson(
  desc: DescMessage,
  text: string,
  bytes: number,
  options: Partial<JsonReadOptions>,
): Message {
  try {
    return fromJsonString(desc, text, options);
  } catch (error) {
    if (!isLarge(bytes)) {
      const finder = new TypeFaults(options);
      const json: Json = JSON.parse(text);
      if (isJsonObject(json)) finder.find(desc, json, "");
      finder.faults.throwIfAny();
    }
    throw error;
  }
}

/** Each read takes about 3 us (measured); a list can have 15,000 entries. */
const MAX_READS = 1_000;

/** Reads each field on its own, to find those that the codec cannot read. */
class TypeFaults {
  readonly faults = new FieldFaultList();
  #reads = 0;
  readonly #options: Partial<JsonReadOptions>;

  constructor(options: Partial<JsonReadOptions>) {
    this.#options = options;
  }

  find(desc: DescMessage, json: Json, place: string): void {
    for (const [key, value] of isJsonObject(json) ? Object.entries(json) : []) {
      const field = desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
      if (field === undefined || this.#isReadable(desc, { [key]: value })) continue;
      this.#findIn(field, key, value, place ? `${place}.${field.name}` : field.name);
    }
    if (!isJsonObject(json)) this.faults.add(place, "must be an object");
  }

  #findIn(field: DescField, key: string, value: Json, place: string): void {
    if (field.fieldKind === "list") this.#findInList(field, key, value, place);
    else if (field.fieldKind === "map") this.#findInMap(field, key, value, place);
    else this.#findInValue(field, value, place);
  }

  #findInList(field: DescField, key: string, value: Json, place: string): void {
    if (!Array.isArray(value)) this.faults.add(place, "must be a list");
    for (const [index, item] of Array.isArray(value) ? value.entries() : []) {
      if (!this.#isReadable(field.parent, { [key]: [item] })) this.#findInValue(field, item, `${place}[${index}]`);
    }
  }

  #findInMap(field: DescField, key: string, value: Json, place: string): void {
    if (!isJsonObject(value)) this.faults.add(place, "must be an object");
    for (const [name, item] of isJsonObject(value) ? Object.entries(value) : []) {
      const isReadable = this.#isReadable(field.parent, { [key]: { [name]: item } });
      if (!isReadable) this.#findInValue(field, item, `${place}.${name.toWellFormed()}`);
    }
  }

  #findInValue(field: DescField, value: Json, place: string): void {
    const { message } = field;
    // Google's types have forms of their own: a time is a string.
    if (message && !message.typeName.startsWith("google.protobuf.")) this.find(message, value, place);
    else this.faults.add(place, expectationOf(field, value));
  }

  /** Also true once {@link MAX_READS} were tried: then later fields are not looked at. */
  #isReadable(desc: DescMessage, json: Json): boolean {
    this.#reads += 1;
    if (this.#reads > MAX_READS) return true;
    try {
      fromJson(desc, json, this.#options);
      return true;
    } catch {
      return false;
    }
  }
}

function expectationOf({ scalar }: DescField, value: Json): string {
  switch (scalar) {
    case ScalarType.STRING:
      return typeof value === "string" ? "must be a string without half surrogate pairs" : "must be a string";
    case ScalarType.BOOL:
      return "must be true or false";
    case ScalarType.INT32:
    case ScalarType.INT64:
      return "must be a whole number";
    default:
      return "must be of the type that its proto states";
  }
}
