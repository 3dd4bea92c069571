import type { DescMethod, Message } from "@bufbuild/protobuf";
import { TokenizeService, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import type { Authenticator } from "../../access/authenticate.js";
import { callingApplication } from "../../access/caller.js";
import { newUuid } from "../../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import type { ApiResponse, CallApi } from "../../functions/serve-host-calls.js";
import type { MemoryBudget } from "../../memory/memory-budget.js";
import type { BtMethod } from "../../sandbox/host-calls.js";
import type { Admission } from "../admission/admission.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { problemJson } from "../faults/problem.js";
import { toFault } from "../observation/observation.js";
import type { Pipeline } from "../pipeline/pipeline.js";
import { compileFieldReader, compileJsonReader } from "./json-reader.js";
import { compileRestMethods, type RestMethod } from "./rest-method.js";

/** A method as tenants' code calls it: arguments and result as on the wire. */
interface InternalMethod {
  readonly pipeline: Pipeline;
  readonly rest: RestMethod;
  read(args: Json): Message;
}

/**
 * Runs API operations for an application without HTTP, through the same pipeline as REST: rights, validation, log rows
 * and the memory for large tokens are the same.
 */
export function internalCalls(
  pipelines: readonly Pipeline[],
  authenticator: Authenticator,
  budget: MemoryBudget,
): CallApi {
  const methods = internalMethods(pipelines);
  return async (caller, name, args, signal) => {
    const traceId = newUuid();
    const { tenantId, context } = caller;
    const { id } = callingApplication(caller);
    const memory = budget.openFor(tenantId, id);
    try {
      const head = {
        traceId,
        signal,
        header: () => undefined,
        memory,
        audit: { context, badReason: undefined },
      };
      const renew = async () => {
        authenticator.forgetApplication(tenantId, id);
        return authenticator.application(tenantId, id, context);
      };
      const admission = await methods[name].pipeline.admitCaller(head, caller, renew);
      return await run(methods[name], admission, args);
    } catch (error) {
      const fault = methods[name].rest.asSent(toFault(error));
      const body = problemJson(fault, traceId);
      return { status: FAULT_TABLE[fault.code].http, body, lasting: () => body };
    } finally {
      memory.close();
    }
  };
}

async function run({ pipeline, rest, read }: InternalMethod, admission: Admission, args: Json): Promise<ApiResponse> {
  const { message, lasting } = await pipeline.run(admission, { message: read(args) });
  const bodyOf = (response: Message): Json => {
    const text = rest.write(response);
    return text === undefined ? null : JSON.parse(text);
  };
  return { status: rest.status, body: bodyOf(message), lasting: () => bodyOf(lasting()) };
}

function internalMethods(pipelines: readonly Pipeline[]): Readonly<Record<BtMethod, InternalMethod>> {
  const { tokenize, detokenize } = TokenizeService.method;
  const { createToken, getToken, updateToken, deleteToken, searchTokens, listTokens } = TokenService.method;
  const plain = (desc: DescMethod, shape: (args: JsonObject) => JsonObject = (args) => args) => {
    const readMessage = compileJsonReader(desc.input);
    return methodOf(pipelines, desc, (args) => readMessage(shape(isJsonObject(args) ? args : {})));
  };
  const whole = (desc: DescMethod) => {
    const [field] = desc.input.fields;
    if (!field) throw new Error(`${desc.name} takes nothing`);
    const readField = compileFieldReader(field);
    return methodOf(pipelines, desc, (args) => {
      const message: Message & Record<string, unknown> = { $typeName: desc.input.typeName };
      message[field.localName] = readField(args);
      return message;
    });
  };
  return {
    tokenize: whole(tokenize),
    detokenize: whole(detokenize),
    "tokens.create": plain(createToken),
    "tokens.retrieve": plain(getToken),
    "tokens.update": patching(pipelines, updateToken),
    "tokens.delete": plain(deleteToken),
    "tokens.search": plain(searchTokens),
    "tokens.list": plain(listTokens, (args) => ({
      ...args,
      ...(typeof args.id === "string" ? { id: [args.id] } : {}),
    })),
  };
}

/** The keys present in a patch are the fields that it changes. */
function patching(pipelines: readonly Pipeline[], desc: DescMethod): InternalMethod {
  const readMessage = compileJsonReader(desc.input);
  const mask = desc.input.fields.find(({ message }) => message?.typeName === "google.protobuf.FieldMask");
  return methodOf(pipelines, desc, (args) => {
    const { id = "", patch = {} } = isJsonObject(args) ? args : {};
    const body = isJsonObject(patch) ? patch : {};
    const message: Message & Record<string, unknown> = { ...readMessage({ ...body, id }) };
    const paths = desc.input.fields
      .map(({ name }) => name)
      .filter((name) => name !== "id" && Object.hasOwn(body, name));
    if (mask) message[mask.localName] = { $typeName: "google.protobuf.FieldMask", paths };
    return message;
  });
}

function methodOf(pipelines: readonly Pipeline[], desc: DescMethod, read: (args: Json) => Message): InternalMethod {
  const pipeline = pipelines.find(({ method }) => method.desc === desc);
  const [rest] = pipeline ? compileRestMethods(pipeline.method, 0) : [];
  if (!pipeline || !rest) throw new Error(`${desc.name} is not served`);
  return { pipeline, rest, read };
}
