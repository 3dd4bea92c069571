import { escaped } from "../../../src/base/html.js";

/** The part of JSON Schema that gen/openapi.json uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** Fields nested deeper than this are shown where their message has a field of its own. */
const MAX_DEPTH = 3;

/** The fields of a schema as HTML. Empty: it has none that are known. */
export function fieldList(schema: Schema, schemas: Schemas, depth = 0): string {
  const { properties = {}, required = [] } = resolvedSchema(schema, schemas);
  const fields = Object.entries(properties).map(([name, field]) => {
    const isRequired = depth === 0 && required.includes(name);
    return fieldEntry({ name, schema: field, isRequired }, schemas, depth);
  });
  return fields.length === 0 ? "" : `<ul class="fields">${fields.join("\n")}</ul>`;
}

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** A field with its type, what it means, its values and limits, and the fields inside it. */
export function fieldEntry({ name, schema, isRequired }: Field, schemas: Schemas, depth = 0): string {
  const resolved = resolvedSchema(schema, schemas);
  const description = schema.description ?? resolved.description ?? "";
  const inner = depth < MAX_DEPTH ? fieldList(innerSchema(resolved), schemas, depth + 1) : "";
  return [
    `<li><p class="field"><code>${escaped(name)}</code> <span>${escaped(typeText(resolved, schemas))}</span>`,
    isRequired ? ' <span class="required">required</span>' : "",
    "</p>",
    description === "" ? "" : `<p>${prose(description)}</p>`,
    limitText(resolved) === "" ? "" : `<p class="limits">${limitText(resolved)}</p>`,
    inner === "" ? "" : `<details><summary>Fields of ${escaped(name)}</summary>${inner}</details>`,
    "</li>",
  ].join("");
}

/** Text with code between backquotes. */
export function prose(text: string): string {
  return escaped(text)
    .replaceAll(/&#96;|`/g, "`")
    .replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

function resolvedSchema(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.split("/").at(-1) ?? "";
  const found = schemas[name];
  if (!found) throw new Error(`gen/openapi.json has no ${schema.$ref}`);
  return found;
}

/** What a list or a map holds, or the object itself. */
function innerSchema({ items, additionalProperties, ...schema }: Schema): Schema {
  if (items) return items;
  return typeof additionalProperties === "object" ? additionalProperties : schema;
}

const TYPES: Readonly<Record<string, string>> = { string: "text", boolean: "true or false" };

function typeText(schema: Schema, schemas: Schemas): string {
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  const mayBeNull = [schema.type ?? []].flat().includes("null");
  const [type] = types;
  const text = types.length === 1 && type !== undefined ? singleTypeText(type, schema, schemas) : "any JSON";
  return mayBeNull ? `${text}, or null` : text;
}

function singleTypeText(type: string, schema: Schema, schemas: Schemas): string {
  if (type === "array") return `list of ${typeText(resolvedSchema(schema.items ?? {}, schemas), schemas)}`;
  if (type === "object" && schema.properties === undefined) return "object with any names";
  if (schema.format === "uuid") return "UUID";
  if (schema.format === "date-time") return "time";
  return TYPES[type] ?? type;
}

function limitText({ enum: values, minimum, maximum, maxLength, maxItems, maxProperties }: Schema): string {
  const limits = [
    values?.map((value) => `<code>${escaped(String(value))}</code>`).join(", "),
    minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : undefined,
    minimum === undefined && maximum !== undefined ? `at most ${maximum}` : undefined,
    minimum !== undefined && maximum === undefined && minimum !== 0 ? `at least ${minimum}` : undefined,
    maxLength !== undefined && `at most ${maxLength} characters`,
    maxItems !== undefined && `at most ${maxItems} entries`,
    maxProperties !== undefined && `at most ${maxProperties} names`,
  ];
  return limits.filter((limit) => limit !== undefined && limit !== false).join("; ");
}
