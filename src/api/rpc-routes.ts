import type { IncomingMessage } from "node:http";
import { type DescMethod, type DescMethodUnary, type DescService, getOption, type Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { policy } from "../../gen/cloakroom/v1/options_pb.js";
import { ProxyService } from "../../gen/cloakroom/v1/proxies_pb.js";
import { Fault, invalid } from "../base/fault.js";
import { FunctionFailed } from "../functions/function-failed.js";
import { FAULT_TABLE } from "./fault-table.js";
import { RECURSION_LIMIT } from "./idempotency.js";
import { checkJsonBytes } from "./json-text.js";
import { type Observation, type Observe, toFault } from "./observation.js";
import type { Admission, Pipeline } from "./pipeline.js";
import { rateRefusalOf } from "./rate-gate.js";
import { type RpcCall, type RpcLimits, withOurRefusals } from "./rpc-call.js";
import { connectErrorOf, connectErrorOfFunction } from "./rpc-error.js";
import { traceIdOf } from "./trace.js";

const callKey = createContextKey<RpcCall | undefined>(undefined, { description: "the call" });

interface RpcOptions extends ConnectRouterOptions {
  routes(router: ConnectRouter): void;
  contextValues(request: { readonly raw: IncomingMessage }): ContextValues;
}

/**
 * Serves every method over gRPC, gRPC-Web and Connect. Callers are authenticated in the gate, before their message is
 * read.
 */
export function rpcOptions(
  services: readonly DescService[],
  pipelines: readonly Pipeline[],
  others: (router: ConnectRouter) => void,
  limits: RpcLimits,
  observe: Observe,
): RpcOptions {
  const byMethod = new Map<DescMethod, Pipeline>(pipelines.map((pipeline) => [pipeline.method.desc, pipeline]));
  return {
    readMaxBytes: limits.messageBytes,
    maxTimeoutMs: limits.timeoutMs,
    binaryOptions: { recursionLimit: RECURSION_LIMIT },
    jsonOptions: JSON_OPTIONS,
    contextValues: ({ raw }) => createContextValues().set(callKey, { raw, isRead: false }),
    requestGate: async (context) => {
      const refused = rateRefusalOf(callOf(context).raw);
      if (refused) throw refuseAtOnce(refused, context, observe);
      const pipeline = byMethod.get(context.method);
      if (pipeline) await gate(pipeline, context, observe);
    },
    routes(router) {
      for (const method of services.flatMap(({ methods }) => methods)) {
        if (isUnary(method)) serveUnary(router, method, byMethod.get(method));
      }
      for (const [index, handler] of router.handlers.entries()) {
        router.handlers[index] = withOurRefusals(handler, limits, (values) => values?.get(callKey));
      }
      others(router);
    },
  };
}

/** Connect hands every JSON message to `textDecoder` first: here it is read as strictly as on REST. */
const JSON_OPTIONS = {
  recursionLimit: RECURSION_LIMIT,
  ignoreUnknownFields: true,
  textDecoder: {
    decode(bytes: Uint8Array): string {
      try {
        return checkJsonBytes(bytes);
      } catch (error) {
        throw connectErrorOf(toFault(error));
      }
    },
  },
};

async function gate(pipeline: Pipeline, context: HandlerContext, observe: Observe): Promise<void> {
  const call = callOf(context);
  const traceId = traceIdOf(context.requestHeader.get("bt-trace-id") ?? undefined);
  const observation = observe({ rpc: context.method.name, traceId });
  call.observation = observation;
  const head = {
    traceId,
    signal: context.signal,
    header: (name: string) => context.requestHeader.get(name) ?? undefined,
  };
  try {
    call.admission = await pipeline.admit(head);
    observation.caller = call.admission.caller;
  } catch (error) {
    throw refusal(error, observation, traceId);
  }
}

function refuseAtOnce(fault: Fault, context: HandlerContext, observe: Observe): ConnectError {
  const traceId = traceIdOf(context.requestHeader.get("bt-trace-id") ?? undefined);
  return refusal(fault, observe({ rpc: context.method.name, traceId }), traceId);
}

function callOf(context: HandlerContext): RpcCall {
  const call = context.values.get(callKey);
  if (!call) throw new Error("a call came in by another way than the server's");
  return call;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function serveUnary(router: ConnectRouter, method: DescMethodUnary, pipeline: Pipeline | undefined): void {
  router.rpc(method, async (request: Message, context) => {
    const call = callOf(context);
    call.isRead = true;
    if (!pipeline) throw notServed(method, context);
    const { admission, observation } = call;
    if (!admission || !observation) throw new ConnectError("the request was not admitted", Code.Internal);
    return run(pipeline, admission, observation, request, context);
  });
}

async function run(
  pipeline: Pipeline,
  admission: Admission,
  observation: Observation,
  request: Message,
  context: HandlerContext,
): Promise<Message> {
  try {
    requireMask(pipeline.method.desc, request);
    const answer = await pipeline.run(admission, request);
    for (const [name, value] of answer.headers) context.responseHeader.set(name, value);
    observation.end(200);
    return answer.message;
  } catch (error) {
    const { traceId } = admission.head;
    if (!(error instanceof FunctionFailed)) throw refusal(error, observation, traceId);
    observation.fail(error.status, new Fault("unprocessable", "A function failed."));
    const isProxy = pipeline.method.desc.parent === ProxyService;
    throw connectErrorOfFunction(error, isProxy ? "proxy_error" : "reactor_error", traceId);
  }
}

function notServed(method: DescMethodUnary, context: HandlerContext): ConnectError {
  const fault = new Fault("method_not_allowed", `${method.name} is not served by this version.`);
  return connectErrorOf(fault, traceIdOf(context.requestHeader.get("bt-trace-id") ?? undefined));
}

/** REST fills the mask from the keys present, which may be none. An RPC caller that sends an empty one forgot it. */
function requireMask(method: DescMethodUnary, request: Message): void {
  if (!getOption(method, policy).mergePatch) return;
  const mask: unknown = Reflect.get(request, "updateMask");
  const paths = typeof mask === "object" && mask !== null && "paths" in mask ? mask.paths : undefined;
  if (!Array.isArray(paths) || paths.length === 0) throw invalid("update_mask", "must name the fields to change");
}

function refusal(error: unknown, observation: Observation, traceId: string): ConnectError {
  const fault = toFault(error);
  observation.fail(FAULT_TABLE[fault.code].http, fault);
  return connectErrorOf(fault, traceId);
}
