import { type DescMethod, type DescMethodUnary, type DescService, getOption, type Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createContextKey,
  type HandlerContext,
} from "@connectrpc/connect";
import { policy } from "../../gen/cloakroom/v1/options_pb.js";
import { invalid } from "../base/fault.js";
import { FAULT_TABLE } from "./fault-table.js";
import { RECURSION_LIMIT } from "./idempotency.js";
import { type Observation, type Observe, toFault } from "./observation.js";
import type { Admission, Pipeline } from "./pipeline.js";
import { connectErrorOf } from "./rpc-error.js";
import { traceIdOf } from "./trace.js";

interface Gated {
  readonly admission: Admission;
  readonly observation: Observation;
}

const gatedKey = createContextKey<Gated | undefined>(undefined, { description: "the admitted request" });

export interface RpcLimits {
  readonly messageBytes: number;
  readonly timeoutMs: number;
}

/**
 * Serves every method over gRPC, gRPC-Web and Connect. Callers are authenticated in the gate, before their message is
 * read.
 */
export function rpcOptions(
  services: readonly DescService[],
  pipelines: readonly Pipeline[],
  others: (router: ConnectRouter) => void,
  { messageBytes, timeoutMs }: RpcLimits,
  observe: Observe,
): ConnectRouterOptions & { routes: (router: ConnectRouter) => void } {
  const byMethod = new Map<DescMethod, Pipeline>(pipelines.map((pipeline) => [pipeline.method.desc, pipeline]));
  return {
    readMaxBytes: messageBytes,
    maxTimeoutMs: timeoutMs,
    binaryOptions: { recursionLimit: RECURSION_LIMIT },
    jsonOptions: { recursionLimit: RECURSION_LIMIT, ignoreUnknownFields: true },
    requestGate: async (context) => {
      const pipeline = byMethod.get(context.method);
      if (pipeline) await gate(pipeline, context, observe);
    },
    routes(router) {
      for (const method of services.flatMap(({ methods }) => methods)) {
        if (isUnary(method)) serveUnary(router, method, byMethod.get(method));
      }
      others(router);
    },
  };
}

async function gate(pipeline: Pipeline, context: HandlerContext, observe: Observe): Promise<void> {
  const traceId = traceIdOf(context.requestHeader.get("bt-trace-id") ?? undefined);
  const observation = observe({ rpc: context.method.name, traceId });
  context.responseHeader.set("bt-trace-id", traceId);
  const head = {
    traceId,
    signal: context.signal,
    header: (name: string) => context.requestHeader.get(name) ?? undefined,
  };
  try {
    const admission = await pipeline.admit(head);
    observation.caller = admission.caller;
    context.values.set(gatedKey, { admission, observation });
  } catch (error) {
    throw refusal(error, observation, traceId);
  }
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function serveUnary(router: ConnectRouter, method: DescMethodUnary, pipeline: Pipeline | undefined): void {
  if (!pipeline) {
    router.rpc(method, () => {
      throw new ConnectError(`${method.name} is not served by this version`, Code.Unimplemented);
    });
    return;
  }
  router.rpc(method, async (request: Message, context) => {
    const gated = context.values.get(gatedKey);
    if (!gated) throw new ConnectError("the request was not admitted", Code.Internal);
    const { admission, observation } = gated;
    try {
      requireMask(method, request);
      const answer = await pipeline.run(admission, request);
      for (const [name, value] of answer.headers) context.responseHeader.set(name, value);
      observation.end(200);
      return answer.message;
    } catch (error) {
      throw refusal(error, observation, admission.head.traceId);
    }
  });
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
