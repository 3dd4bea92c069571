import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Fault } from "../base/fault.js";
import { MAX_NAMES, MAX_VALUES } from "../base/json-structure.js";
import { RECURSION_LIMIT } from "./idempotency.js";
import { badlyStructured, malformed, TOO_MANY_NAMES, TOO_MANY_VALUES } from "./json-text.js";

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
    walk.message(desc, bytes.length, 0);
  } catch (error) {
    throw error instanceof Fault ? error : unreadable();
  }
  return walk.members;
}

class MessageWalk {
  readonly #reader: BinaryReader;
  readonly #bytes: Buffer;
  readonly #names: Set<string> | undefined;
  #values = 0;
  /** Across all maps and structs. */
  members = 0;

  constructor(bytes: Uint8Array, names: Set<string> | undefined) {
    this.#reader = new BinaryReader(bytes);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#names = names;
  }

  message(desc: DescMessage, end: number, level: number): void {
    const fields = fieldsOf(desc);
    // The kind of a Value has been counted as the value already.
    const uncounted = desc.typeName === "google.protobuf.Value" ? 1 : 0;
    this.#fields(end, level, uncounted, (number) => {
      const field = fields.get(number);
      if (field?.fieldKind === "map") return (mapEnd) => this.#entry(field.message, mapEnd, level + 1);
      return field?.message && this.#messageReader(field.message, level);
    });
  }

  /** An entry of a map is a message with the key as field 1 and the value as field 2. */
  #entry(value: DescMessage | undefined, end: number, level: number): void {
    this.members += 1;
    const keyOrValue = 2;
    this.#fields(end, level, keyOrValue, (number) =>
      number === 1 ? (keyEnd) => this.#name(keyEnd) : value && this.#messageReader(value, level),
    );
  }

  #messageReader(desc: DescMessage, level: number): (end: number) => void {
    return (end) => this.message(desc, end, level + 1);
  }

  /**
   * @param uncounted fields that are not values of their own.
   * @param nestedIn the walker of a field's content; undefined to skip the field.
   */
  #fields(
    end: number,
    level: number,
    uncounted: number,
    nestedIn: (number: number) => ((end: number) => void) | undefined,
  ): void {
    if (level > MAX_LEVELS || end > this.#reader.len) throw unreadable();
    for (let seen = 1; this.#reader.pos < end; seen += 1) {
      const [number, wireType] = this.#reader.tag();
      if (seen > uncounted) this.#countValue();
      // Our messages have no groups, and an unknown group may have any number of fields.
      if (wireType === WireType.StartGroup) throw unreadable();
      const walk = wireType === WireType.LengthDelimited ? nestedIn(number) : undefined;
      if (walk) {
        const length = this.#reader.uint32();
        walk(this.#reader.pos + length);
      } else this.#reader.skip(wireType, number);
    }
    if (this.#reader.pos !== end) throw unreadable();
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw badlyStructured(TOO_MANY_VALUES);
  }

  #name(end: number): void {
    if (end > this.#reader.len) throw unreadable();
    if (this.#names) {
      this.#names.add(this.#bytes.toString("latin1", this.#reader.pos, end));
      if (this.#names.size > MAX_NAMES) throw badlyStructured(TOO_MANY_NAMES);
    }
    this.#reader.pos = end;
  }
}

function unreadable(): Fault {
  return malformed("must be a valid message");
}

const fieldsByNumber = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  const known = fieldsByNumber.get(desc);
  if (known) return known;
  const fields = new Map(desc.fields.map((field) => [field.number, field]));
  fieldsByNumber.set(desc, fields);
  return fields;
}
