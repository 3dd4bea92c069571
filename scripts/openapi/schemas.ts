import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { rest_message } from "../../gen/cloakroom/v1/options_pb.js";
import { isAlwaysSet, omitsEmpty, restFields, restName } from "../../src/api/rest/field-name.js";
import { isJsonObject, type JsonObject } from "../../src/base/json.js";
import { commentOf } from "./comments.js";
import { furtherKeywordsOf, MESSAGE_RULES, mayBeCleared } from "./further-rules.js";
import { isRequired, keywordsOf } from "./rules.js";

/**
 * The required fields depend on the writer of a message: a caller omits fields with a default, a response contains
 * every field that cannot be unset. A patch needs no field and clears those that are null.
 */
export type Writer = "caller" | "patch" | "server";

/** The schemas of messages, each created when it is first referred to. */
export class Schemas {
  readonly #made = new Map<string, JsonObject>();

  /** By name, sorted. */
  get all(): JsonObject {
    return Object.fromEntries([...this.#made].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** A message as callers send it, without the fields that the path or the protocol fills. */
  ofRequest(message: DescMessage, writer: Writer, fields: readonly DescField[]): JsonObject {
    return this.#refer(message.name, message, writer, fields);
  }

  /** One field, with its comment and rules. */
  ofField(field: DescField, writer: Writer): JsonObject {
    const further = writer === "server" ? {} : furtherKeywordsOf(field);
    const schema = merge(merge(this.#shapeOf(field, writer), keywordsOf(field)), further);
    return { ...schema, ...describe(commentOf(field)) };
  }

  /** A field of an object: null clears it in a patch, and counts as absent in other requests. */
  #ofProperty(field: DescField, writer: Writer): JsonObject {
    const schema = this.ofField(field, writer);
    const takesNull = writer === "patch" ? mayBeCleared(field) : writer === "caller" && !isRequired(field);
    return takesNull ? orNull(schema) : schema;
  }

  /** A message within a field. */
  ofMessage(message: DescMessage, writer: Writer): JsonObject {
    switch (message.typeName) {
      case "google.protobuf.Value":
        return {};
      case "google.protobuf.Struct":
        return { type: "object" };
      case "google.protobuf.Timestamp":
        return { type: "string", format: "date-time" };
      default: {
        // An object within a patch is replaced as a whole.
        const by = writer === "server" ? "server" : "caller";
        return this.#refer(by === "server" ? message.name : `${message.name}Input`, message, by, restFields(message));
      }
    }
  }

  #refer(name: string, message: DescMessage, writer: Writer, fields: readonly DescField[]): JsonObject {
    if (!this.#made.has(name)) {
      // Registered before its fields are visited, because messages may contain themselves.
      const schema: JsonObject = {};
      this.#made.set(name, schema);
      Object.assign(schema, this.#objectOf(message, writer, fields));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #objectOf(message: DescMessage, writer: Writer, fields: readonly DescField[]): JsonObject {
    const required = fields.filter((field) => isAlwaysThere(field, writer)).map(restName);
    const prose = [commentOf(message), writer === "server" ? undefined : unservedIn(message)];
    return {
      type: "object",
      ...describe(prose.filter((text) => text !== undefined).join(" ") || undefined),
      ...(required.length > 0 ? { required } : {}),
      properties: Object.fromEntries(fields.map((field) => [restName(field), this.#ofProperty(field, writer)])),
      ...(writer === "server" ? {} : MESSAGE_RULES.get(message.name)),
    };
  }

  #shapeOf(field: DescField, writer: Writer): JsonObject {
    const single = field.message ? this.ofMessage(field.message, writer) : scalarOf(field);
    if (field.fieldKind === "list") return { type: "array", items: single };
    if (field.fieldKind === "map") return { type: "object", additionalProperties: single };
    return single;
  }
}

/** A schema with further keywords. Those of items and entries go where the items and entries are described. */
function merge(schema: JsonObject, keywords: JsonObject): JsonObject {
  const merged: JsonObject = { ...schema };
  for (const [keyword, value] of Object.entries(keywords)) {
    const described = merged[keyword];
    merged[keyword] = isJsonObject(described) && isJsonObject(value) ? { ...described, ...value } : value;
  }
  return merged;
}

/** Fields that are rejected unless they are empty, although no list of fields has them. */
function unservedIn(message: DescMessage): string | undefined {
  const { unserved } = getOption(message, rest_message);
  if (unserved.length === 0) return undefined;
  return `Refused, unless empty: ${unserved.map(({ name, because }) => `\`${name}\` (${because})`).join(", ")}.`;
}

function isAlwaysThere(field: DescField, writer: Writer): boolean {
  if (writer === "patch") return false;
  if (writer === "caller") return isRequired(field);
  return field.presence === FeatureSet_FieldPresence.IMPLICIT
    ? !omitsEmpty(field)
    : isAlwaysSet(field) || isRequired(field);
}

function scalarOf(field: DescField): JsonObject {
  switch (field.scalar) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.INT32:
      return { type: "integer", format: "int32" };
    case ScalarType.INT64:
      return { type: "integer", format: "int64" };
    default:
      throw new Error(`REST does not show ${field.toString()}`);
  }
}

function describe(comment: string | undefined): JsonObject {
  return comment === undefined ? {} : { description: comment };
}

function orNull(schema: JsonObject): JsonObject {
  const { $ref, type, enum: choices, description, ...rest } = schema;
  if ($ref !== undefined) return { anyOf: [{ $ref }, { type: "null" }], ...(description ? { description } : {}) };
  // No type means any JSON, including null.
  if (type === undefined) return schema;
  return {
    type: [type, "null"],
    ...(Array.isArray(choices) ? { enum: [...choices, null] } : {}),
    ...rest,
    ...(description ? { description } : {}),
  };
}
