import { type DescField, type DescMessage, type DescMethod, getOption } from "@bufbuild/protobuf";
import { policy } from "../../../gen/cloakroom/v1/options_pb.js";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { isJsonObject, type Json, type JsonObject } from "../../../src/base/json.js";
import { CLIENT_METHODS, methodName, RESOURCES } from "../../client/names.js";
import { PAGES } from "../../client/resources.js";
import type { Operation } from "./operations.js";

/** One call in one language. */
export interface Sample {
  readonly language: "curl" | "TypeScript" | "Go" | "gRPC";
  /** For colours. */
  readonly syntax: "bash" | "typescript" | "go";
  readonly code: string;
}

/** The same call in each language that can make it. */
export function samplesFor(operation: Operation, body: Json | undefined): readonly Sample[] {
  const { method } = operation;
  const samples: Sample[] = [{ language: "curl", syntax: "bash", code: curlSample(operation, body) }];
  if (!method || operation.path === "/proxy") return samples;
  const typescript = typescriptSample(method, body);
  if (typescript !== undefined) samples.push({ language: "TypeScript", syntax: "typescript", code: typescript });
  samples.push({ language: "Go", syntax: "go", code: goSample(method, body) });
  samples.push({ language: "gRPC", syntax: "bash", code: grpcSample(method, body) });
  return samples;
}

function curlSample({ verbs, path, body: content }: Operation, body: Json | undefined): string {
  const verb = verbs.includes("POST") ? "POST" : (verbs[0] ?? "GET");
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const lines = [
    `curl -s ${verb === "GET" || verb === "POST" ? "" : `-X ${verb} `}$BASE${address}`,
    '-H "BT-API-KEY: $KEY"',
  ];
  if (path === "/proxy") lines.push('-H "BT-PROXY-KEY: $PROXY_KEY"');
  if (body !== undefined)
    lines.push(`-H 'Content-Type: ${content?.type ?? "application/json"}'`, `-d ${shellQuoted(body)}`);
  else if (verb === "POST") lines.splice(1, 0, "-X POST");
  return lines.join(" \\\n  ");
}

function grpcSample(method: DescMethod, body: Json | undefined): string {
  const message = rpcMessage(method, body);
  return [
    `buf curl --protocol grpc --http2-prior-knowledge -H "bt-api-key: $KEY"`,
    ...(Object.keys(message).length === 0 ? [] : [`-d ${shellQuoted(message)}`]),
    `$BASE/${method.parent.typeName}/${method.name}`,
  ].join(" \\\n  ");
}

function goSample(method: DescMethod, body: Json | undefined): string {
  const message = rpcMessage(method, body);
  const client = `cloakroom.New${method.parent.name}Client(conn)`;
  const isEmpty = Object.keys(message).length === 0;
  const stream = method.methodKind === "server_streaming";
  const call = `${stream ? "stream" : "response"}, err := ${client}.${method.name}(ctx, request)`;
  if (isEmpty) return `request := &cloakroom.${method.input.name}{}\n${call}`;
  return [
    `request := &cloakroom.${method.input.name}{}`,
    `if err := protojson.Unmarshal([]byte(\`${JSON.stringify(message, undefined, 2)}\`), request); err != nil {`,
    "\treturn err",
    "}",
    call,
  ].join("\n");
}

function typescriptSample(method: DescMethod, body: Json | undefined): string | undefined {
  const resource = RESOURCES.find(({ service }) => service === method.parent.name);
  if (!resource && method.parent.name !== CLIENT_METHODS) return undefined;
  const name = methodName(method.name, resource?.noun ?? "");
  const ids = pathFields(method).map((field) => field.localName);
  const input = body === undefined ? [] : [typescriptInput(method, body)];
  const call = `vault.${resource ? `${resource.property}.` : ""}${name}(${[...ids, ...input].join(", ")})`;
  if (method.methodKind === "server_streaming" || isPaged(method)) {
    return `for await (const item of ${call}) {\n  console.log(item);\n}`;
  }
  return method.output.typeName === "google.protobuf.Empty" ? `await ${call};` : `const response = await ${call};`;
}

/** The client reads lists page by page. */
function isPaged({ output }: DescMethod): boolean {
  const page = output.fields.find(({ name }) => name === "pagination");
  return PAGES.has(page?.message?.name ?? "") && output.fields.some(({ name }) => name === "data");
}

function typescriptInput(method: DescMethod, body: Json): string {
  const field = bodyField(method);
  const input =
    field?.message?.typeName === "google.protobuf.Value" || !isJsonObject(body) ? body : camelCased(method.input, body);
  return JSON.stringify(input, undefined, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}

/** The names of a message's fields in camel case. Values of any form stay as they are. */
function camelCased(message: DescMessage, json: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => {
      const field = message.fields.find((each) => each.name === name);
      return [field?.localName ?? name, field?.message ? camelCasedValue(field, field.message, value) : value];
    }),
  );
}

function camelCasedValue(field: DescField, message: DescMessage, value: Json): Json {
  if (message.typeName.startsWith("google.protobuf.")) return value;
  if (field.fieldKind === "list" && Array.isArray(value)) {
    return value.map((item) => (isJsonObject(item) ? camelCased(message, item) : item));
  }
  return isJsonObject(value) ? camelCased(message, value) : value;
}

/** The message of an RPC: the ids of the path, the body, and which fields a patch has. */
export function rpcMessage(method: DescMethod, body: Json | undefined): JsonObject {
  const ids = Object.fromEntries(pathFields(method).map(({ name }) => [name, `$${name.toUpperCase()}`]));
  if (body === undefined) return ids;
  const field = bodyField(method);
  if (field) return { ...ids, [field.name]: body };
  if (!isJsonObject(body)) return ids;
  if (!getOption(method, policy).mergePatch) return { ...ids, ...body };
  const set = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  return { ...ids, ...set, update_mask: Object.keys(body).map(lowerCamelCase).join(",") };
}

/** As JSON writes the paths of a field mask. */
function lowerCamelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The field that the body of the REST operation is. Undefined: the whole message. */
function bodyField(method: DescMethod): DescField | undefined {
  const { body } = getOption(method, http);
  return method.input.fields.find(({ name }) => name === body);
}

function pathFields(method: DescMethod): readonly DescField[] {
  const { pattern } = getOption(method, http);
  const template = pattern.case === undefined || pattern.case === "custom" ? "" : pattern.value;
  const names = [...template.matchAll(/\{(\w+)/g)].map(([, name]) => name);
  return method.input.fields.filter(({ name }) => names.includes(name));
}

/** In double quotes where the shell must fill in a variable. */
function shellQuoted(value: Json): string {
  const text = JSON.stringify(value, undefined, 2);
  if (!text.includes('"$')) return `'${text.replaceAll("'", "'\\''")}'`;
  return `'${text.replaceAll("'", "'\\''").replaceAll(/"(\$\w+)"/g, `"'$1'"`)}'`;
}
