import type { Uuid } from "../../base/ids.js";
import type { MessageWriter } from "../wire/message-writer.js";
import type { ParameterKind } from "../wire/prepared-statement.js";

export interface Parameter<Input> extends ParameterKind {
  write(out: MessageWriter, input: Input): void;
}

/** Oids of PostgreSQL's types. They are the same in every database. */
const TYPE = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  integer: 23,
  text: 25,
  inet: 869,
  texts: 1009,
  date: 1082,
  timestamptz: 1184,
  uuid: 2950,
  jsonb: 3802,
} as const;

const parameterOf =
  <Value>(type: number, format: 0 | 1, writeValue: (out: MessageWriter, value: Value) => void) =>
  <Input>(get: (input: Input) => Value | null): Parameter<Input> => ({
    type,
    format,
    write(out, input) {
      const value = get(input);
      if (value === null) out.nullValue();
      else writeValue(out, value);
    },
  });

export const text = parameterOf<string>(TYPE.text, 0, (out, value) => out.textValue(value));
export const uuid = parameterOf<Uuid>(TYPE.uuid, 0, (out, value) => out.textValue(value));
/** An IPv4 or IPv6 address, with or without a prefix length. */
export const inet = parameterOf<string>(TYPE.inet, 0, (out, value) => out.textValue(value));
/** A day as YYYY-MM-DD. */
export const date = parameterOf<string>(TYPE.date, 0, (out, value) => out.textValue(value));
export const bytes = parameterOf<Uint8Array>(TYPE.bytea, 1, (out, value) => out.bytesValue(value));
export const time = parameterOf<Date>(TYPE.timestamptz, 1, (out, value) => out.timeValue(value));
/** Also for smallint. */
export const integer = parameterOf<number>(TYPE.integer, 1, (out, value) => out.int32Value(value));
export const bigint = parameterOf<number>(TYPE.bigint, 1, (out, value) => out.int64Value(value));
export const boolean = parameterOf<boolean>(TYPE.boolean, 1, (out, value) => out.booleanValue(value));
export const texts = parameterOf<readonly string[]>(TYPE.texts, 1, (out, value) => out.textsValue(value, TYPE.text));
export const json = parameterOf<object>(TYPE.jsonb, 0, (out, value) => out.textValue(JSON.stringify(value)));
