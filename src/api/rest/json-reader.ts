import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { rest_message } from "../../../gen/cloakroom/v1/options_pb.js";
import { FieldFaultList } from "../../base/field-fault-list.js";
import { isJsonObject, type Json, setOwnProperty } from "../../base/json.js";
import { type FieldNames, suggestedField, unknownFieldFaults } from "../../base/unknown-fields.js";
import { toValue } from "../../services/value.js";
import { fieldMaxEntries, tooManyEntries } from "../messages/field-sizes.js";
import { restFields, restName } from "./field-name.js";

/**
 * Reads a message of REST from JSON; `src/api/rpc/rpc-json-faults.ts` reads that of RPC. Unknown fields are ignored
 * unless {@link unknownFieldFaults} objects.
 * @throws {Fault} validation_failed naming each value of a wrong type.
 */
export type JsonReader = (json: Json) => Message;

/**
 * Reads a partly invalid message: errors are added to `faults`, and the fields and entries at fault have their
 * defaults. Undefined for JSON that is not an object.
 */
export type PartialJsonReader = (json: Json, faults: FieldFaultList) => Message | undefined;

type ReadMessage = (json: Json, place: string, faults: FieldFaultList) => Message | undefined;
type ReadValue = (json: Json, place: string, faults: FieldFaultList) => unknown;

/** Built once for each message at start. */
export function compileJsonReader(desc: DescMessage): JsonReader {
  const read = compilePartialJsonReader(desc);
  return (json) => {
    const faults = new FieldFaultList();
    const message = read(json, faults);
    faults.throwIfAny();
    if (!message) throw new Error("a body was refused without a fault");
    return message;
  };
}

/** Built once for each message at start. */
export function compilePartialJsonReader(desc: DescMessage): PartialJsonReader {
  const read = messageReader(desc, new Map());
  return (json, faults) => read(json, "", faults);
}

export function compileFieldReader(field: DescField): (json: Json) => unknown {
  const read = valueReader(field, new Map());
  return (json) => {
    const faults = new FieldFaultList();
    const value = read(json, field.name, faults);
    faults.throwIfAny();
    return value;
  };
}

/** Creates an empty message with proto3's defaults. */
export function compileDefaults(desc: DescMessage): () => Message & Record<string, unknown> {
  return () => {
    const message: Message & Record<string, unknown> = { $typeName: desc.typeName };
    for (const member of desc.members) {
      if (member.kind === "oneof") message[member.localName] = { case: undefined };
      else if (member.fieldKind === "list") message[member.localName] = [];
      else if (member.fieldKind === "map") message[member.localName] = {};
      else if (member.fieldKind === "scalar" && !hasPresence(member)) message[member.localName] = zeroOf(member.scalar);
      else if (member.fieldKind === "enum" && !hasPresence(member)) message[member.localName] = 0;
    }
    return message;
  };
}

function messageReader(desc: DescMessage, known: Map<string, ReadMessage>): ReadMessage {
  const found = known.get(desc.typeName);
  if (found) return found;
  let fields: { name: string; localName: string; takesNull: boolean; read: ReadValue }[] | undefined;
  const names = fieldNamesOf(desc);
  const makeDefaults = compileDefaults(desc);
  const read: ReadMessage = (json, place, faults) => {
    if (!isJsonObject(json)) return fail(faults, place || "body", "must be an object");
    // Compiled at the first read, since messages may contain themselves.
    fields ??= restFields(desc)
      .filter(isSent)
      .map((field) => ({
        name: restName(field),
        localName: field.localName,
        takesNull: field.message?.typeName === "google.protobuf.Value",
        read: valueReader(field, known),
      }));
    const message = makeDefaults();
    let unread = Object.keys(json).length;
    for (const { name, localName, takesNull, read: readValue } of fields) {
      if (!Object.hasOwn(json, name)) continue;
      unread -= 1;
      const sent = json[name];
      if (sent === undefined || (sent === null && !takesNull)) continue;
      const value = readValue(sent, within(place, name), faults);
      if (value !== undefined) message[localName] = value;
    }
    for (const [name, text] of unread > 0 ? unknownFieldFaults(json, names) : []) {
      fail(faults, within(place, name), text);
      if (place === "") continue;
      // Read as the field that was meant: a misspelt field of an entry is not also reported as missing.
      const meant = suggestedField(name, names.known);
      const field = fields.find((known) => known.name === meant);
      const value = field?.read(json[name] ?? null, within(place, name), faults);
      if (field && value !== undefined) message[field.localName] = value;
    }
    return message;
  };
  known.set(desc.typeName, read);
  return read;
}

function valueReader(field: DescField, known: Map<string, ReadMessage>): ReadValue {
  const maxEntries = fieldMaxEntries(field);
  if (field.fieldKind === "list") {
    const readItem = singleReader(field, known);
    const makeEntry = entryDefault(field);
    return (json, place, faults) => {
      if (!Array.isArray(json)) return fail(faults, place, "must be a list");
      if (json.length > maxEntries) return fail(faults, place, tooManyEntries(maxEntries));
      // An entry at fault keeps its place: faults name later ones by their index.
      return json.map((item, index) => readItem(item, `${place}[${index}]`, faults) ?? makeEntry());
    };
  }
  if (field.fieldKind === "map") {
    const readItem = singleReader(field, known);
    return (json, place, faults) => {
      if (!isJsonObject(json)) return fail(faults, place, "must be an object");
      const entries = Object.entries(json);
      if (entries.length > maxEntries) return fail(faults, place, tooManyEntries(maxEntries));
      const map: Record<string, unknown> = {};
      for (const [key, item] of entries) {
        const value = readItem(item, `${place}.${key}`, faults);
        if (value !== undefined) setOwnProperty(map, key, value);
      }
      return map;
    };
  }
  return singleReader(field, known);
}

function singleReader(field: DescField, known: Map<string, ReadMessage>): ReadValue {
  if (field.message?.typeName === "google.protobuf.Value") return (json) => toValue(json);
  // Generated code holds a Struct field as a plain object.
  if (field.message?.typeName === "google.protobuf.Struct") {
    return (json, place, faults) => (isJsonObject(json) ? json : fail(faults, place, "must be an object"));
  }
  if (field.message) return messageReader(field.message, known);
  switch (field.scalar) {
    case ScalarType.STRING:
      return (json, place, faults) => (typeof json === "string" ? json : fail(faults, place, "must be a string"));
    case ScalarType.BOOL:
      return (json, place, faults) => (typeof json === "boolean" ? json : fail(faults, place, "must be true or false"));
    case ScalarType.INT32:
      return (json, place, faults) =>
        typeof json === "number" && Number.isInteger(json) && Math.abs(json) < 2 ** 31
          ? json
          : fail(faults, place, "must be a whole number");
    case ScalarType.INT64:
      return (json, place, faults) =>
        Number.isSafeInteger(json) && typeof json === "number"
          ? BigInt(json)
          : fail(faults, place, "must be a whole number");
    default:
      throw new Error(`REST cannot read ${field.toString()}`);
  }
}

/** Creates an entry of a list without a value. */
function entryDefault(field: DescField): () => unknown {
  if (field.message) return compileDefaults(field.message);
  const zero = field.scalar === undefined ? 0 : zeroOf(field.scalar);
  return () => zero;
}

function fieldNamesOf(desc: DescMessage): FieldNames {
  const { unserved } = getOption(desc, rest_message);
  return {
    known: restFields(desc).filter(isSent).map(restName),
    unserved: new Map(unserved.map(({ name, because }) => [name, because])),
  };
}

function within(place: string, name: string): string {
  return place ? `${place}.${name}` : name;
}

/** An update mask comes from the keys present in the body, never from the body itself. */
function isSent(field: DescField): boolean {
  return field.message?.typeName !== "google.protobuf.FieldMask";
}

function fail(faults: FieldFaultList, place: string, text: string): undefined {
  faults.add(place, text);
  return undefined;
}

function hasPresence(field: DescField): boolean {
  return field.presence !== FeatureSet_FieldPresence.IMPLICIT;
}

function zeroOf(scalar: ScalarType): unknown {
  switch (scalar) {
    case ScalarType.STRING:
      return "";
    case ScalarType.BOOL:
      return false;
    case ScalarType.INT64:
      return 0n;
    case ScalarType.BYTES:
      return new Uint8Array();
    default:
      return 0;
  }
}
