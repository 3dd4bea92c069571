import { type DescField, type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import { AuthMode, type MethodPolicy, policy as policyOption, RateScope } from "../../gen/cloakroom/v1/options_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { restFields } from "../../src/api/rest/field-name.js";
import { parsePathTemplate } from "../../src/api/routes/path-template.js";
import type { JsonObject } from "../../src/base/json.js";
import { commentOf, splitComment } from "./comments.js";
import { EXAMPLES } from "./examples.js";
import { functionFailures } from "./function-failures.js";
import { headerParameters, pathParameter, queryParameter } from "./parameters.js";
import { problemResponses } from "./problems.js";
import { isRequired } from "./rules.js";
import type { Schemas } from "./schemas.js";

/** One operation in the document. */
export interface PlacedOperation {
  readonly path: string;
  readonly verb: string;
  readonly operation: JsonObject;
}

/** The places of the request's fields. */
interface RequestShape {
  readonly path: readonly DescField[];
  readonly query: readonly DescField[];
  /** The fields of an object, the one field that is the whole body, or nothing. */
  readonly body: readonly DescField[] | DescField | undefined;
}

/** Methods whose handler may also return 202 with an empty body, which the policy cannot express. */
const MAY_BE_ACCEPTED: ReadonlySet<string> = new Set(["React"]);

/** One binding of a method. `alias` counts additional bindings: each needs its own id. */
export function operationOf(
  method: DescMethod,
  binding: HttpRule,
  { alias, tag, schemas }: { alias: number; tag: string; schemas: Schemas },
): PlacedOperation {
  const { pattern } = binding;
  if (pattern.case === undefined || pattern.case === "custom") throw new Error(`${method.name} has no path`);
  const path = parsePathTemplate(pattern.value);
  const policy = getOption(method, policyOption);
  const shape = shapeOf(method.input, path.variables, binding.body);
  const parameters = [
    ...shape.path.map((field) => pathParameter(field, schemas)),
    ...shape.query.map((field) => queryParameter(field, schemas)),
    ...headerParameters(policy.idempotent),
  ];
  const hasInput = parameters.length > 1 || shape.body !== undefined;
  const operation = {
    operationId: `${method.localName}${alias > 0 ? alias + 1 : ""}`,
    tags: [tag],
    ...proseOf(method, policy),
    ...(policy.auth === AuthMode.OPTIONAL ? { security: [{ "BT-API-KEY": [] }, {}] } : {}),
    parameters,
    ...(shape.body === undefined ? {} : { requestBody: requestBodyOf(method, shape.body, policy, schemas) }),
    responses: {
      ...successOf(method, binding.responseBody, policy, schemas),
      ...problemResponses({
        hasInput,
        hasBody: shape.body !== undefined,
        namesResource: shape.path.length > 0,
        isGuarded: policy.requires.length + policy.requiresOneOf.length > 0 || pattern.case !== "get",
        isIdempotent: policy.idempotent,
      }),
      ...functionFailures(method.name),
    },
    "x-permissions": policy.requires,
    ...(policy.requiresOneOf.length > 0 ? { "x-permissions-one-of": policy.requiresOneOf } : {}),
    ...(policy.containerScoped ? { "x-container-scoped": true } : {}),
    ...(policy.rateScope === RateScope.UNSPECIFIED
      ? {}
      : { "x-rate-limit-scope": RateScope[policy.rateScope].toLowerCase() }),
  };
  return { path: path.text, verb: pattern.case, operation };
}

function shapeOf(input: DescMessage, variables: readonly string[], body: string): RequestShape {
  const path = variables.map((name) => fieldOf(input, name));
  // REST derives the mask from the keys that are present.
  const others = restFields(input).filter(
    (field) => !path.includes(field) && field.message?.typeName !== "google.protobuf.FieldMask",
  );
  if (body === "*") return { path, query: [], body: others };
  const bodyField = body === "" ? undefined : fieldOf(input, body);
  return { path, query: others.filter((field) => field !== bodyField), body: bodyField };
}

function proseOf(method: DescMethod, { requires, requiresOneOf, containerScoped }: MethodPolicy): JsonObject {
  const { summary, rest } = splitComment(commentOf(method) ?? "");
  const quoted = (permissions: readonly string[]) => permissions.map((permission) => `\`${permission}\``);
  const permissions = [...quoted(requires), quoted(requiresOneOf).join(" or ")]
    .filter((text) => text !== "")
    .join(" and ");
  const rights = permissions ? `Needs ${permissions}${containerScoped ? " for the containers concerned" : ""}.` : "";
  const description = [rest, rights].filter((text) => text !== "").join("\n\n");
  return { summary, ...(description ? { description } : {}) };
}

function requestBodyOf(
  method: DescMethod,
  body: readonly DescField[] | DescField,
  { mergePatch, bodyLimitBytes }: MethodPolicy,
  schemas: Schemas,
): JsonObject {
  const isObject = isFieldList(body);
  const schema = isObject
    ? schemas.ofRequest(method.input, mergePatch ? "patch" : "caller", body)
    : schemas.ofField(body, "caller");
  const isNeeded = mergePatch || (isObject ? body.some(isRequired) : isRequired(body));
  const examples = EXAMPLES[method.name]?.request;
  return {
    ...(bodyLimitBytes > 0 ? { description: `At most ${bodyLimitBytes} bytes.` } : {}),
    required: isNeeded,
    content: {
      [mergePatch ? "application/merge-patch+json" : "application/json"]: { schema, ...(examples ? { examples } : {}) },
    },
  };
}

function isFieldList(body: readonly DescField[] | DescField): body is readonly DescField[] {
  return Array.isArray(body);
}

function successOf(
  method: DescMethod,
  responseBody: string,
  { successStatus, idempotent }: MethodPolicy,
  schemas: Schemas,
): JsonObject {
  const { output } = method;
  const isEmpty = output.typeName === "google.protobuf.Empty";
  const status = successStatus || (isEmpty ? 204 : 200);
  const names = ["BT-TRACE-ID", ...(idempotent ? ["BT-IDEMPOTENCY-REPLAYED"] : [])];
  const headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  const accepted = { 202: { description: "Accepted. The result is sent later.", headers } };
  const also = MAY_BE_ACCEPTED.has(method.name) ? accepted : {};
  if (isEmpty) return { [status]: { description: "Done.", headers }, ...also };
  const schema = responseBody
    ? schemas.ofField(fieldOf(output, responseBody), "server")
    : schemas.ofMessage(output, "server");
  const examples = EXAMPLES[method.name]?.response;
  const content = { "application/json": { schema, ...(examples ? { examples } : {}) } };
  return { [status]: { description: DESCRIPTIONS[status] ?? "Done.", headers, content }, ...also };
}

const DESCRIPTIONS: Readonly<Record<number, string>> = { 201: "Created.", 202: "Accepted." };

function fieldOf(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name);
  if (!field) throw new Error(`${desc.typeName} has no field ${name}`);
  return field;
}
