import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { isAlwaysSet } from "../../src/api/rest/field-name.js";
import { commentOf } from "../openapi/comments.js";
import { isRequired, keywordsOf } from "../openapi/rules.js";
import { choicesFor, choiceTypes } from "./choices.js";
import { ID_TYPES, idKindOf } from "./names.js";

/** Callers leave out what has a default, and `null` in a patch clears. Responses show all fields that cannot be unset. */
export type Direction = "input" | "patch" | "response";

const SHARED = "google.protobuf.";
/** The field of a message whose type the caller may name, since a token's data has the form that its creator gave it. */
const NAMED_DATA: ReadonlyMap<string, string> = new Map([["Token", "data"]]);
/** Messages that repeat what callers have as plain JSON. */
const REPEATED_DATA: ReadonlySet<string> = new Set(["BankData", "CardData"]);

/** Interfaces and shapes of messages, each made when a method first refers to it. */
export class Messages {
  readonly #interfaces = new Map<string, string>();
  readonly #shapes = new Map<string, string>();
  /** Messages whose shape says something: a response without such needs no second look. */
  readonly #shapeNames = new Map<string, string | undefined>();

  /** The TypeScript type of a message, with type parameters where it has any. */
  typeOf(message: DescMessage, direction: Direction): string {
    switch (message.typeName) {
      case `${SHARED}Value`:
        return direction === "response" ? "JsonValue" : "JsonInput";
      case `${SHARED}Struct`:
        return direction === "response" ? "JsonObject" : "JsonObjectInput";
      case `${SHARED}Timestamp`:
        return direction === "response" ? "Date" : "Date | string";
      default:
        return direction === "response" ? this.#response(message) : this.#input(message);
    }
  }

  /** Declares the input of a method, without the fields that its path or the client fills. */
  declareInput(name: string, comment: string, fields: readonly DescField[], direction: "input" | "patch"): void {
    this.#interfaces.set(
      name,
      interfaceText(
        name,
        comment,
        fields.map((field) => this.#field(field, direction)),
      ),
    );
  }

  /** The name of the shape that completes responses of this message; undefined where nothing is to be completed. */
  shapeOf(message: DescMessage): string | undefined {
    if (message.typeName.startsWith(SHARED)) return undefined;
    if (this.#shapeNames.has(message.name)) return this.#shapeNames.get(message.name);
    const name = `${message.name.charAt(0).toLowerCase()}${message.name.slice(1)}Shape`;
    // Set first, since messages may contain themselves.
    this.#shapeNames.set(message.name, name);
    const text = this.#shapeText(message);
    const [same] = [...this.#shapes].find(([, other]) => other === text) ?? [];
    if (text === undefined || same !== undefined) this.#shapeNames.set(message.name, same);
    else this.#shapes.set(name, text);
    return this.#shapeNames.get(message.name);
  }

  typesFile(): string {
    const ids = ID_TYPES.map((kind) => `export type ${kind}Id = Id<"${kind}">;`);
    const imports = `import type { Id, JsonInput, JsonObject, JsonObjectInput, JsonValue, Open } from "../values.js";`;
    return [imports, ids.join("\n"), choiceTypes().join("\n"), ...sorted(this.#interfaces)].join("\n\n").concat("\n");
  }

  /** In the order in which they were made: a shape comes after those that it refers to. */
  shapesFile(): string {
    const constants = [...this.#shapes].map(([name, text]) => `export const ${name}: Shape = ${text};`);
    return ['import type { Shape } from "../shape.js";', ...constants].join("\n\n").concat("\n");
  }

  #response(message: DescMessage): string {
    const data = NAMED_DATA.get(message.name);
    if (!this.#interfaces.has(message.name)) {
      this.#interfaces.set(message.name, "");
      const name = data === undefined ? message.name : `${message.name}<Data = JsonValue>`;
      const fields = message.fields
        .filter(isShown)
        .map((field) => this.#field(field, "response", field.name === data ? "Data" : undefined));
      this.#interfaces.set(message.name, interfaceText(name, commentOf(message), fields));
    }
    return data === undefined ? message.name : `${message.name}<Data>`;
  }

  #input(message: DescMessage): string {
    const name = `${message.name}Input`;
    if (!this.#interfaces.has(name)) {
      this.#interfaces.set(name, "");
      this.declareInput(name, commentOf(message) ?? "", message.fields.filter(isShown), "input");
    }
    return name;
  }

  #field(field: DescField, direction: Direction, type = this.#fieldType(field, direction)): string {
    const comment = docstring(commentOf(field), "  ");
    const isAlways =
      direction === "response" ? isImplicit(field) || isAlwaysSet(field) : direction === "input" && isRequired(field);
    const others = direction === "patch" ? " | null | undefined" : isAlways ? "" : " | undefined";
    return `${comment}  readonly ${field.localName}${isAlways ? "" : "?"}: ${type}${others};`;
  }

  #fieldType(field: DescField, direction: Direction): string {
    const nested = direction === "patch" ? "input" : direction;
    const single = field.message ? this.typeOf(field.message, nested) : scalarType(field, nested);
    if (field.fieldKind === "list") return `readonly ${/[ |]/.test(single) ? `(${single})` : single}[]`;
    return field.fieldKind === "map" ? `Readonly<Record<string, ${single}>>` : single;
  }

  #shapeText(message: DescMessage): string | undefined {
    const kinds = new Map<string, string[]>();
    const inner = new Map<string, string[]>();
    const add = (to: Map<string, string[]>, kind: string, entry: string) => {
      to.set(kind, [...(to.get(kind) ?? []), entry]);
    };
    for (const field of message.fields.filter(isShown)) {
      // A message that contains itself is complete by the time that the shape is read.
      const shape = field.message && this.shapeOf(field.message);
      const isSingle = field.fieldKind === "message";
      if (shape !== undefined) add(inner, isSingle ? "nested" : "items", `${field.localName}: ${shape}`);
      const kind = shape === undefined || field.fieldKind === "map" ? kindOf(field) : undefined;
      if (kind !== undefined) add(kinds, kind, field.localName);
    }
    const repeated = message.fields.filter(repeatsData).map(({ localName }) => localName);
    if (repeated.length > 0) kinds.set("dropped", repeated);
    const members = [
      ...[...kinds].map(([kind, names]) => `${kind}: "${names.join(" ")}"`),
      ...[...inner].map(([kind, shapes]) => `${kind}: { ${shapes.join(", ")} }`),
    ];
    return members.length === 0 ? undefined : `{ ${members.join(", ")} }`;
  }
}

/** The list of a shape that a field is in, if any. JSON leaves out what is empty, and has times and 64-bit numbers as texts. */
function kindOf(field: DescField): string | undefined {
  if (field.fieldKind === "list") return "lists";
  if (field.fieldKind === "map") return "maps";
  if (isTime(field)) return "times";
  switch (field.scalar) {
    case ScalarType.INT64:
      return isImplicit(field) ? "counts" : "longs";
    case ScalarType.BYTES:
      return "bytes";
    case ScalarType.STRING:
      return isImplicit(field) ? "texts" : undefined;
    case ScalarType.BOOL:
      return isImplicit(field) ? "flags" : undefined;
    case ScalarType.INT32:
      return isImplicit(field) ? "numbers" : undefined;
    default:
      return undefined;
  }
}

/** Times that the protos hold as text keep the offset they were given; a Date is what callers compute with. */
export function isTime(field: DescField): boolean {
  return (
    field.message?.typeName === `${SHARED}Timestamp` || ["expires_at", "start_date", "end_date"].includes(field.name)
  );
}

/** Extensions of an HTTP body are messages that no proto of ours defines. */
export function isShown(field: DescField): boolean {
  return field.message?.typeName !== `${SHARED}Any` && !repeatsData(field);
}

function repeatsData(field: DescField): boolean {
  return REPEATED_DATA.has(field.message?.name ?? "");
}

function isImplicit(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.IMPLICIT;
}

function scalarType(field: DescField, direction: Direction): string {
  if (isTime(field)) return direction === "response" ? "Date" : "Date | string";
  const kind = field.fieldKind === "scalar" ? idKindOf(field.parent.name, field.name) : undefined;
  switch (field.scalar) {
    case ScalarType.STRING:
      return kind === undefined ? (choicesFor(field) ?? choicesOf(field)) : `${kind}Id`;
    case ScalarType.BOOL:
      return "boolean";
    case ScalarType.INT32:
    case ScalarType.INT64:
      return "number";
    case ScalarType.BYTES:
      return direction === "response" ? "Uint8Array" : "Uint8Array | string";
    default:
      throw new Error(`the client has no type for ${field.toString()}`);
  }
}

/** The values that the rules of a field allow, where they list them. */
function choicesOf(field: DescField): string {
  if (field.fieldKind !== "scalar") return "string";
  const { enum: choices } = keywordsOf(field);
  return Array.isArray(choices) ? choices.map((choice) => JSON.stringify(choice)).join(" | ") : "string";
}

function interfaceText(name: string, comment: string | undefined, fields: readonly string[]): string {
  return `${docstring(comment, "")}export interface ${name} {\n${fields.join("\n")}\n}`;
}

export function docstring(comment: string | undefined, indent: string): string {
  return comment ? `${indent}/** ${comment.replaceAll("*/", "* /")} */\n` : "";
}

function sorted(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text);
}
