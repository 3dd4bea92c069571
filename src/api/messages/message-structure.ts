import type { DescMessage } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { Fault } from "../../base/fault.js";
import { MAX_NAMES, MAX_VALUES } from "../../base/json-structure.js";
import { rememberEach } from "../../base/remember-each.js";
import { badlyStructured, malformedJson, TOO_MANY_NAMES, TOO_MANY_VALUES } from "./json-text.js";
import { fieldNumber, tagWireType, WireCursor } from "./wire-cursor.js";

/**
 * A level of JSON takes two messages, a Value and its Struct or ListValue. A response has 128 levels where a mask of 64
 * shows data of 64 in its innermost one, plus the levels of the messages around them.
 */
export const RECURSION_LIMIT = 2 * 128 + 16;

/** Entries of maps are messages too; parsers do not count them as levels. */
const MAX_LEVELS = 2 * RECURSION_LIMIT;

/**
 * Checks a binary message against the limits for JSON, in one pass and without building anything. Values are counted as
 * in JSON: one for each item of a list, member of a map or struct, and other field.
 * @throws {Fault} malformed_body, also for bytes that are not a message.
 */
export function requireBoundedMessage(desc: DescMessage, bytes: Uint8Array): void {
  const members = countMembers(desc, bytes, undefined);
  // Names are compared only if there are enough: that costs as much as everything else.
  if (members > MAX_NAMES) countMembers(desc, bytes, new Set());
}

function countMembers(desc: DescMessage, bytes: Uint8Array, names: Set<string> | undefined): number {
  const walk = new MessageWalk(bytes, names);
  try {
    walk.message(shapeOf(desc), bytes.length, 0);
  } catch (error) {
    throw error instanceof Fault ? error : unreadable();
  }
  return walk.members;
}

class MessageWalk extends WireCursor {
  readonly #names: Set<string> | undefined;
  #values = 0;
  /** Across all maps and structs. */
  members = 0;

  constructor(bytes: Uint8Array, names: Set<string> | undefined) {
    super(bytes);
    this.#names = names;
  }

  message({ uncounted, fields }: Shape, end: number, level: number): void {
    this.#requireWithin(end, level);
    for (let seen = 1; this.at < end; seen += 1) {
      const tag = this.uint32();
      if (seen > uncounted) this.#countValue();
      const field = tagWireType(tag) === WireType.LengthDelimited ? fields.get(fieldNumber(tag)) : undefined;
      // Our messages have no groups, and an unknown group may have any number of fields.
      if (!field) this.skip(tagWireType(tag));
      else if (field.kind === "map") this.#entry(field.value, this.#end(), level + 1);
      else this.message(field.shape(), this.#end(), level + 1);
    }
    if (this.at !== end) throw unreadable();
  }

  /** An entry of a map is a message with the key as field 1 and the value as field 2. */
  #entry(value: (() => Shape) | undefined, end: number, level: number): void {
    this.members += 1;
    this.#requireWithin(end, level);
    for (let seen = 1; this.at < end; seen += 1) {
      const tag = this.uint32();
      if (seen > 2) this.#countValue();
      const number = tagWireType(tag) === WireType.LengthDelimited ? fieldNumber(tag) : 0;
      if (number === 1) this.#name(this.#end());
      else if (number === 2 && value) this.message(value(), this.#end(), level + 1);
      else this.skip(tagWireType(tag));
    }
    if (this.at !== end) throw unreadable();
  }

  #requireWithin(end: number, level: number): void {
    if (level > MAX_LEVELS || end > this.bytes.length) throw unreadable();
  }

  #end(): number {
    const length = this.uint32();
    return this.at + length;
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw badlyStructured(TOO_MANY_VALUES);
  }

  #name(end: number): void {
    if (end > this.bytes.length) throw unreadable();
    if (this.#names) {
      this.#names.add(this.bytes.toString("latin1", this.at, end));
      if (this.#names.size > MAX_NAMES) throw badlyStructured(TOO_MANY_NAMES);
    }
    this.at = end;
  }
}

function unreadable(): Fault {
  return malformedJson("must be a valid message");
}

interface Shape {
  /** How many fields are not values of their own: the kind of a Value has been counted as the value already. */
  readonly uncounted: 0 | 1;
  readonly fields: ReadonlyMap<number, NestedField>;
}

/** Shapes are functions, since messages may contain themselves. */
type NestedField =
  | { readonly kind: "message"; readonly shape: () => Shape }
  | { readonly kind: "map"; readonly value: (() => Shape) | undefined };

const shapeOf = rememberEach((desc: DescMessage): Shape => {
  const fields = new Map<number, NestedField>();
  for (const field of desc.fields) {
    const { message } = field;
    const shape = message && (() => shapeOf(message));
    if (field.fieldKind === "map") fields.set(field.number, { kind: "map", value: shape });
    else if (shape) fields.set(field.number, { kind: "message", shape });
  }
  return { uncounted: desc.typeName === "google.protobuf.Value" ? 1 : 0, fields };
});
