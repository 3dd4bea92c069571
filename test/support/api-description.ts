import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { FURTHER_RULES, MESSAGE_RULES } from "../../scripts/openapi/further-rules.js";

/** A JSON Schema, as far as the tests read it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Content {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly parameters: readonly {
    readonly $ref?: string;
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly style?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Record<string, Content> }>>;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly "x-permissions": readonly string[];
  readonly "x-rate-limit-scope"?: string;
}

interface Description {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, { readonly content: Record<string, Content> }>>;
  };
}

/** gen/openapi.json. */
export const description: Description = JSON.parse(readFileSync("gen/openapi.json", "utf8"));

export interface PlacedOperation {
  readonly verb: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Every operation, in the order of the document. */
export const operations: readonly PlacedOperation[] = Object.entries(description.paths).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, operation]) => ({ verb: verb.toUpperCase(), path, operation })),
);

export function operationNamed(id: string): PlacedOperation {
  const found = operations.find(({ operation }) => operation.operationId === id);
  if (!found) throw new Error(`the document has no operation ${id}`);
  return found;
}

/** Follows a reference to one of the schemas, also of one that may be null. */
export function resolve(schema: Schema): Schema {
  const [choice] = schema.anyOf ?? [];
  if (choice?.$ref !== undefined) return resolve(choice);
  if (schema.$ref === undefined) return schema;
  const found = description.components.schemas[schema.$ref.replace("#/components/schemas/", "")];
  if (!found) throw new Error(`the document has no schema ${schema.$ref}`);
  return found;
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema(description, "open");
ajv.addSchema(Object(closed(description)), "closed");
ajv.addSchema(rulesOnly(), "rules");

/** Checks a request. Other fields besides the listed ones are allowed. */
export function requestValidator({ path, verb }: PlacedOperation, mediaType: string): ValidateFunction {
  return validatorAt("open", ["paths", path, verb.toLowerCase(), "requestBody", "content", mediaType, "schema"]);
}

/** The same, without the rules that the protos do not have. */
export function rulesOnlyValidator({ path, verb }: PlacedOperation, mediaType: string): ValidateFunction {
  return validatorAt("rules", ["paths", path, verb.toLowerCase(), "requestBody", "content", mediaType, "schema"]);
}

/** Checks one parameter in a query. */
export function parameterValidator({ path, verb, operation }: PlacedOperation, name: string): ValidateFunction {
  const at = operation.parameters.findIndex((parameter) => parameter.name === name);
  return validatorAt("open", ["paths", path, verb.toLowerCase(), "parameters", String(at), "schema"]);
}

/** The description of a response with this status: its own, or one for its hundred. */
export function responseTo({ operation }: PlacedOperation, status: number) {
  const keys = [String(status), `${Math.floor(status / 100)}XX`];
  const key = keys.find((each) => each in operation.responses);
  const response = key === undefined ? undefined : operation.responses[key];
  return key !== undefined && response ? { key, ...response } : undefined;
}

/** Checks a response: a field that is not listed is an error too. */
export function responseValidator(placed: PlacedOperation, status: number): ValidateFunction {
  const { path, verb } = placed;
  const response = responseTo(placed, status);
  const own = ["paths", path, verb.toLowerCase(), "responses", response?.key ?? String(status)];
  const place = response?.$ref?.slice(2).split("/") ?? own;
  return validatorAt("closed", [...place, "content", "application/json", "schema"]);
}

function validatorAt(root: string, steps: readonly string[]): ValidateFunction {
  const pointer = steps.map((step) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1")));
  return ajv.compile({ $ref: `${root}#/${pointer.join("/")}` });
}

/** The same schemas, allowing only the listed fields. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  return copy.type === "object" && copy.properties ? { ...copy, additionalProperties: false } : copy;
}

/** The document without what scripts/openapi/further-rules.ts adds to it. */
function rulesOnly(): object {
  const copy: { components: { schemas: Record<string, { properties: Record<string, unknown> }> } } = JSON.parse(
    JSON.stringify(description),
  );
  const { schemas } = copy.components;
  for (const [field, keywords] of FURTHER_RULES) {
    const [message = "", name = ""] = field.split(".");
    for (const schema of [schemas[message], schemas[`${message}Input`]]) removeFrom(schema?.properties[name], keywords);
  }
  for (const [message, keywords] of MESSAGE_RULES) {
    for (const schema of [schemas[message], schemas[`${message}Input`]]) removeFrom(schema, keywords);
  }
  return copy;
}

function removeFrom(schema: unknown, keywords: object): void {
  if (typeof schema !== "object" || schema === null) return;
  for (const [keyword, value] of Object.entries(keywords)) {
    const described: unknown = Reflect.get(schema, keyword);
    if (keyword === "items" && typeof value === "object") removeFrom(described, value);
    else Reflect.deleteProperty(schema, keyword);
  }
}
