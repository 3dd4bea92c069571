import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type DescField, type DescMessage, getOption, hasOption, isMessage, type Message } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../../gen/google/api/http_pb.js";
import { Fault, invalid, invalidFields } from "../../base/fault.js";
import { FieldFaultList } from "../../base/field-fault-list.js";
import { isJsonObject, type Json, setOwnProperty } from "../../base/json.js";
import type { ServedMethod } from "../../services/call.js";
import { methodPolicy } from "../../services/method-policy.js";
import type { ReceivedRequest } from "../pipeline/pipeline.js";
import { type HttpVerb, readPattern } from "../routes/http-rule.js";
import { type PathTemplate, parsePathTemplate } from "../routes/path-template.js";
import { readsBareList } from "./bare-list.js";
import { type BodyRules, readJsonBody, requireCaller } from "./body.js";
import { restFields } from "./field-name.js";
import { compileDefaults, compileFieldReader, compilePartialJsonReader } from "./json-reader.js";
import { compileFieldWriter, compileJsonWriter } from "./json-writer.js";
import { compileQueryReader, type UnknownParameters } from "./query.js";

export interface RestMethod {
  readonly verb: HttpVerb;
  readonly path: PathTemplate;
  readonly method: ServedMethod;
  /** The status of success, unless the handler returns 202. */
  readonly status: number;
  /**
   * Reads path, query and body into the request message. Lists and deletes reject unknown parameters: a list that
   * ignored a filter would show what it was to leave out, and a delete cannot be undone.
   * @throws {Fault} malformed_body if the caller disconnected.
   */
  read(request: IncomingMessage, parameters: Readonly<Record<string, string>>, query: string): Promise<ReceivedRequest>;
  /** The body of a response; undefined if the method has none. */
  write(response: Message, to?: IncomingHttpHeaders): string | undefined;
  /**
   * Renames the fields of a fault to their form in the request: if the body is one field, its name appears nowhere in
   * it.
   */
  asSent(fault: Fault): Fault;
}

/** The largest page that a client may request. */
const MAX_LISTED = 100;

/** The routes declared by a method's google.api.http rule; none without a rule. */
export function compileRestMethods(method: ServedMethod, defaultBodyLimit: number): RestMethod[] {
  if (!hasOption(method.desc, http)) return [];
  const rule = getOption(method.desc, http);
  return [rule, ...rule.additionalBindings].map((binding) => restMethod(method, binding, defaultBodyLimit));
}

function restMethod(method: ServedMethod, rule: HttpRule, defaultBodyLimit: number): RestMethod {
  const { input, output } = method.desc;
  const policy = methodPolicy(method.desc);
  const { verb, text } = readPattern(rule);
  const path = parsePathTemplate(text);
  const isEmpty = output.typeName === "google.protobuf.Empty";
  const writeBody = rule.responseBody
    ? compileFieldWriter(fieldOf(output, rule.responseBody))
    : compileJsonWriter(output);
  return {
    verb,
    path,
    method,
    status: policy.successStatus || (isEmpty ? 204 : 200),
    read: requestReader(input, rule.body, path, {
      maxBytes: policy.bodyLimitBytes || defaultBodyLimit,
      mergePatch: policy.mergePatch,
      bareList: policy.bareList !== "",
      unknownParameters: verb === "DELETE" || method.desc.name.startsWith("List") ? "reported" : "ignored",
    }),
    write: isEmpty ? () => undefined : bareListWriter(output, policy.bareList, writeBody),
    asSent: (fault) => (rule.body === "" || rule.body === "*" ? fault : withoutRoot(fault, rule.body)),
  };
}

/** Writes the list alone for clients that expect it, and the whole response for others. */
function bareListWriter(
  output: DescMessage,
  list: string,
  writeAll: (response: Message) => string,
): RestMethod["write"] {
  if (list === "") return writeAll;
  const writeList = compileFieldWriter(fieldOf(output, list));
  return (response, to) => (to && readsBareList(to) ? writeList(response) : writeAll(response));
}

/** `value.items[0]` becomes `items[0]`, and `value` itself `body`, in a detail that is the first problem too. */
function withoutRoot(fault: Fault, root: string): Fault {
  if (!fault.fields) return fault;
  const fields: Record<string, readonly string[]> = {};
  for (const [name, texts] of Object.entries(fault.fields)) {
    const below = name.startsWith(root) ? /^(?:\.|(?=\[))(.+)$/.exec(name.slice(root.length))?.[1] : undefined;
    setOwnProperty(fields, below ?? (name === root ? "body" : name), texts);
  }
  const { code, retryAfter, cause } = fault;
  const message = fault.message === invalidFields(fault.fields).message ? invalidFields(fields).message : fault.message;
  return new Fault(code, message, { fields, cause, ...(retryAfter === undefined ? {} : { retryAfter }) });
}

type Fields = Message & Record<string, unknown>;

function requestReader(
  input: DescMessage,
  body: string,
  path: PathTemplate,
  rules: BodyRules & { readonly unknownParameters: UnknownParameters; readonly bareList: boolean },
): RestMethod["read"] {
  const variables = path.variables.map((name) => fieldOf(input, name));
  const makeDefaults = compileDefaults(input);
  const bound = [...path.variables, ...(body ? [body] : [])];
  const readQuery = compileQueryReader(input, bound, rules.unknownParameters);
  const readBody = bodyReader(input, body, path, rules);

  /** Clients patch with what they read: the body may repeat an id of the path. */
  const requireSameId = (message: Fields, parameters: Readonly<Record<string, string>>) => {
    if (!rules.mergePatch) return;
    for (const { name, localName } of variables) {
      const sent = message[localName];
      if (sent !== undefined && sent !== "" && sent !== parameters[name]) throw invalid(name, "cannot be changed");
    }
  };

  const withPath = (message: Fields, parameters: Readonly<Record<string, string>>) => {
    for (const field of variables) message[field.localName] = parameters[field.name] ?? "";
    if (!isMessage(message, input)) throw new Error(`REST parsed another message than ${input.typeName}`);
    return message;
  };

  return async (request, parameters, query) => {
    try {
      const faults = new FieldFaultList();
      const message = makeDefaults();
      await readBody(request, message, faults);
      requireSameId(message, parameters);
      if (body !== "*") readQuery(query, message, (name, text) => faults.add(name, text));
      // Clients that ignore paging do not ask for a second page.
      if (rules.bareList && readsBareList(request.headers) && message.size === undefined) message.size = MAX_LISTED;
      const whole = withPath(message, parameters);
      if (faults.isEmpty) return { message: whole, unreadable: undefined };
      const unread = { message: withPath(makeDefaults(), parameters), unreadable: faults.toFault() };
      return faults.toFields().body ? unread : { ...unread, partial: whole };
    } catch (error) {
      // If the client disconnected, skip the idempotency replay.
      if (!(error instanceof Fault) || request.aborted) throw error;
      return { message: withPath(makeDefaults(), parameters), unreadable: error };
    }
  };
}

/** Reads a request's body into a message. Faults of single fields go into the list; any other is thrown. */
function bodyReader(
  input: DescMessage,
  body: string,
  path: PathTemplate,
  rules: BodyRules,
): (request: IncomingMessage, message: Fields, faults: FieldFaultList) => Promise<void> {
  const bodyField = body && body !== "*" ? fieldOf(input, body) : undefined;
  const readBodyField = bodyField && compileFieldReader(bodyField);
  const readBody = compilePartialJsonReader(input);
  const mask = input.fields.find((field) => field.message?.typeName === "google.protobuf.FieldMask");
  return async (request, message, faults) => {
    if (body === "") {
      requireCaller(request);
      request.resume();
      return;
    }
    const json = await readJsonBody(request, rules);
    if (bodyField && readBodyField) {
      if (json !== undefined) message[bodyField.localName] = readBodyField(json);
      return;
    }
    if (json === undefined && !rules.mergePatch) return;
    // RFC 7386: a null patch would replace the resource with nothing. Elsewhere null means an empty body.
    if (json === null && rules.mergePatch) throw invalid("body", "must be an object");
    Object.assign(message, readBody(json ?? {}, faults));
    if (mask)
      message[mask.localName] = { $typeName: "google.protobuf.FieldMask", paths: keysPresent(input, path, json) };
  };
}

/** A key that is present is to be changed, even to null. REST has no key for the mask itself. */
function keysPresent(input: DescMessage, path: PathTemplate, json: Json | undefined): string[] {
  if (!isJsonObject(json)) return [];
  return restFields(input)
    .filter(({ name }) => name !== "update_mask" && !path.variables.includes(name) && Object.hasOwn(json, name))
    .map(({ name }) => name);
}

function fieldOf(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name);
  if (!field) throw new Error(`${desc.typeName} has no field ${name}`);
  return field;
}
