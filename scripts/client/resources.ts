import { type DescField, type DescMethod, type DescService, getOption } from "@bufbuild/protobuf";
import { policy } from "../../gen/cloakroom/v1/options_pb.js";
import { http } from "../../gen/google/api/annotations_pb.js";
import { parsePathTemplate } from "../../src/api/routes/path-template.js";
import { commentOf } from "../openapi/comments.js";
import { isRequired } from "../openapi/rules.js";
import { docstring, isShown, isTime, type Messages } from "./messages.js";
import { LEFT_OUT, methodName, pathIdKind, READING_CALLS, type ResourceName } from "./names.js";

/** Messages that tell where the next page begins. */
export const PAGES: ReadonlySet<string> = new Set(["OffsetPage", "CursorPage", "LogPage"]);

/** The source of a class with one method for each rpc of a service. */
export function resourceFile(service: DescService, resource: ResourceName, messages: Messages): string {
  const shown = service.methods.filter(({ name }) => !LEFT_OUT.has(name));
  const methods = shown.map((method) =>
    method.methodKind === "server_streaming"
      ? streamText(method, methodName(method.name, resource.noun), messages)
      : methodText(method, methodName(method.name, resource.noun), messages),
  );
  const doc = docstring(commentOf(service), "");
  const base = resource.base ?? "Resource";
  return fileOf(`${doc}export class ${resource.className} extends ${base} {\n${methods.join("\n\n")}\n}`, base);
}

/** The source of the base class of clients, which has the methods that belong to no resource. */
export function clientMethodsFile(service: DescService, messages: Messages): string {
  const methods = service.methods.map((method) => methodText(method, methodName(method.name, ""), messages));
  const doc = docstring(commentOf(service), "");
  return fileOf(`${doc}export abstract class Tokenization extends Resource {\n${methods.join("\n\n")}\n}`, "Resource");
}

/** The source of the base class of a client with these resources. */
export function clientFile(className: string, comment: string, resources: readonly ResourceName[]): string {
  const imports = resources.map(({ className, file }) => `import { ${className} } from "./resources/${file}.js";\n`);
  const properties = resources.map(
    ({ property, className }) => `  readonly ${property}: ${className} = new ${className}(this.calls);\n`,
  );
  return [
    ...imports.toSorted(),
    'import { Tokenization } from "./resources/tokenization.js";\n\n',
    `/** ${comment} */\nexport abstract class ${className} extends Tokenization {\n`,
    ...properties,
    "}\n",
  ].join("");
}

/** Imports what the text of a class mentions. */
function fileOf(text: string, base: string): string {
  const mentions = (name: string) => new RegExp(`\\b${name}\\b`).test(text.replace(/\/\*\*.*\*\//g, ""));
  const shapes = [...new Set(text.match(/\b[a-z]\w*Shape\b/g) ?? [])].toSorted();
  const code = text.replace(/\/\*\*.*\*\//g, "").replace(/"[^"]*"/g, "");
  const ownNames = new Set([
    "Call",
    "CallOptions",
    "Followed",
    "FollowOptions",
    "List",
    "JsonInput",
    "JsonValue",
    "JsonObject",
    "Data",
    "Date",
    "Uint8Array",
  ]);
  const [, declared = ""] = /class (\w+)/.exec(code) ?? [];
  const types = [...new Set(code.match(/\b[A-Z]\w*\b/g) ?? [])]
    .filter((name) => !ownNames.has(name) && name !== declared && name !== base)
    .toSorted();
  const values = ["JsonInput", "JsonObject", "JsonValue"].filter(mentions);
  return [
    `import type { Call, CallOptions } from "../../call.js";`,
    ...(mentions("Followed") ? [`import { type Followed, followed, type FollowOptions } from "../../follow.js";`] : []),
    ...(mentions("List") ? [`import type { List } from "../../list.js";`] : []),
    `import { ${base} } from "../../${base.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()}.js";`,
    ...(values.length > 0 ? [`import type { ${values.join(", ")} } from "../../values.js";`] : []),
    ...(types.length > 0 ? [`import type { ${types.join(", ")} } from "../messages.js";`] : []),
    ...(shapes.length > 0 ? [`import { ${shapes.join(", ")} } from "../shapes.js";`] : []),
    "",
    text,
    "",
  ].join("\n");
}

/** A method that sends items until the caller leaves. */
function streamText(method: DescMethod, name: string, messages: Messages): string {
  const { parameters, message } = requestOf(method, messages);
  const items = method.output.fields.find((field) => field.name === "data")?.message;
  if (!items) throw new Error(`${method.name} sends no items`);
  const call = ["this.calls", `"${method.parent.name}/${method.name}"`, messages.shapeOf(items), message, "options"];
  const doc = docstring(commentOf(method), "  ");
  const type = `Followed<${messages.typeOf(items, "response")}>`;
  const signature = `${name}(${[...parameters, "options?: FollowOptions"].join(", ")}): ${type}`;
  return `${doc}  ${signature} {\n    return followed(${call.join(", ")});\n  }`;
}

function methodText(method: DescMethod, name: string, messages: Messages): string {
  const { parameters, message, direction } = requestOf(method, messages);
  const response = responseOf(method, messages);
  const call = [
    `"${method.parent.name}/${method.name}"`,
    `"${effectOf(method)}"`,
    response.shape ?? "undefined",
    message,
    "options",
    ...(direction === "patch"
      ? [`"${dateFields(method)}"`, "true"]
      : dateFields(method)
        ? [`"${dateFields(method)}"`]
        : []),
  ];
  const generic = response.type.includes("<Data>") ? "<Data = JsonValue>" : "";
  const signature = `${name}${generic}(${[...parameters, "options?: CallOptions"].join(", ")}): ${response.type}`;
  const doc = docstring(commentOf(method), "  ");
  return `${doc}  ${signature} {\n    return this.calls.${response.via}(${call.join(", ")});\n  }`;
}

interface Request {
  readonly parameters: readonly string[];
  /** The expression that makes the message. */
  readonly message: string;
  readonly direction: "input" | "patch";
}

function requestOf(method: DescMethod, messages: Messages): Request {
  const variables = pathVariables(method);
  const direction = getOption(method, policy).mergePatch ? "patch" : "input";
  const others = method.input.fields
    .filter(isShown)
    .filter((field) => !variables.includes(field.name) && field.message?.typeName !== "google.protobuf.FieldMask");
  const ids = variables.map((variable) => {
    const field = method.input.fields.find(({ name }) => name === variable);
    if (!field) throw new Error(`${method.name} has no field ${variable}`);
    return { name: field.localName, type: pathIdKind(method.parent.name, method.name, variable) };
  });
  const positional = ids.map(({ name, type }) => `${name}: ${type === undefined ? "string" : `${type}Id`}`);
  const idNames = ids.map(({ name }) => name).join(", ");
  const [only] = others;
  if (!only) return { parameters: positional, message: `{ ${idNames} }`.replace("{  }", "{}"), direction };
  // A message that is one value is that value.
  if (others.length === 1 && only.name === "value" && only.message?.typeName === "google.protobuf.Value") {
    return { parameters: ["value: JsonInput"], message: "{ value }", direction };
  }
  const inputName = method.input.name.replace(/Request$/, "Input");
  messages.declareInput(inputName, commentOf(method.input) ?? "", others, direction);
  const isOptional = direction === "input" && !others.some(isRequired);
  return {
    parameters: [...positional, `${direction === "patch" ? "patch" : "input"}${isOptional ? "?" : ""}: ${inputName}`],
    message: direction === "patch" ? `{ ...patch, ${idNames} }` : ids.length > 0 ? `{ ...input, ${idNames} }` : "input",
    direction,
  };
}

interface ResponseText {
  readonly type: string;
  readonly shape: string | undefined;
  /** The method of Resource that makes the call. */
  readonly via: string;
}

function responseOf(method: DescMethod, messages: Messages): ResponseText {
  const { output } = method;
  if (output.typeName === "google.protobuf.Empty") return { type: "Call<void>", shape: undefined, via: "nothing" };
  const [first] = output.fields;
  const items = output.fields.find(({ name }) => name === "data");
  if (items?.fieldKind === "list" && items.message && output.name.match(/Response$|Page$/)) {
    const item = messages.typeOf(items.message, "response");
    const page = output.fields.find(({ name }) => name === "pagination")?.message?.name ?? "";
    // The shape of the items only: the pages are read by the client itself.
    const shape = messages.shapeOf(items.message);
    if (!PAGES.has(page)) return { type: `Call<readonly ${item}[]>`, shape, via: "items" };
    return { type: `List<${item}>`, shape, via: "pages" };
  }
  if (output.fields.length === 1 && first?.name === "value") {
    return {
      type: `Call<${messages.typeOf(method.output.fields[0]?.message ?? output, "response")}>`,
      shape: undefined,
      via: "value",
    };
  }
  return { type: `Call<${messages.typeOf(output, "response")}>`, shape: messages.shapeOf(output), via: "one" };
}

/** What running the method twice would do, by which the client decides on tries. */
function effectOf(method: DescMethod): "read" | "delete" | "keyed" | "once" {
  const verb = getOption(method, http).pattern.case;
  if (verb === "get" || READING_CALLS.has(method.name)) return "read";
  if (verb === "delete") return "delete";
  return getOption(method, policy).idempotent ? "keyed" : "once";
}

function pathVariables(method: DescMethod): readonly string[] {
  const { pattern } = getOption(method, http);
  return pattern.case === undefined || pattern.case === "custom" ? [] : parsePathTemplate(pattern.value).variables;
}

/** The fields in which a caller may put a Date or bytes, as the client sends both as text. */
function dateFields(method: DescMethod): string {
  const isSpecial = (field: DescField) => isTime(field);
  const own = method.input.fields.filter(isSpecial).map(({ localName }) => localName);
  const bytes = method.input.fields.filter(({ message }) => message?.typeName === "google.api.HttpBody");
  return [...own, ...bytes.map(({ localName }) => `${localName}.data`)].join(" ");
}
