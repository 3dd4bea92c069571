import type { Readable } from "node:stream";
import type { Caller } from "../access/caller.js";
import type { AuditContext } from "../audit/audit-context.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { Json, JsonObject } from "../base/json.js";
import { yieldToEventLoop } from "../base/yield-to-event-loop.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { FunctionFailed } from "../functions/function-failed.js";
import type { FunctionResponse, FunctionRunner } from "../functions/function-runner.js";
import { runTimeoutMs } from "../functions/runtime.js";
import { BodyFault } from "../memory/body-fault.js";
import type { RequestMemory } from "../memory/request-memory.js";
import { MAX_BUFFERED_BYTES } from "./body/incoming-body.js";
import { readResponseBody } from "./buffered-body.js";
import type { ProxyCall, ProxyResponse } from "./call.js";
import { decodedBody } from "./decoded-body.js";
import type { LoadedProxy } from "./load-proxy.js";
import { MASK_CODE, maskArguments, maskedText } from "./mask-transform.js";
import { headerPair, Message, structureProblem } from "./message.js";
import type { ProxyStep } from "./proxy.js";
import type { RunReactorStep, TransformKind } from "./reactor-step.js";
import { StepExpressions, type StepResults } from "./step-expressions.js";

export type TransformableRequest = Pick<ProxyCall, "method" | "path" | "query" | "headers" | "body">;

export interface TransformedCall {
  readonly signal: AbortSignal;
  readonly memory: RequestMemory;
}

export type TransformedResponse = Omit<ProxyResponse, "destinationStatus">;

export type TransformedRequest =
  | { readonly kind: "request"; readonly headers: readonly HeaderPair[]; readonly body: Readable | Buffer }
  /** A transform responded instead of the destination. */
  | { readonly kind: "response"; readonly response: TransformedResponse };

export interface TransformScope {
  readonly tenantId: TenantId;
  readonly context: AuditContext;
  readonly caller?: Caller | undefined;
  readonly proxy: LoadedProxy | undefined;
}

export interface TransformParts {
  readonly functions: FunctionRunner;
  application(tenantId: TenantId, proxy: LoadedProxy, context: AuditContext): Promise<Caller | undefined>;
  /** Creates a token as that application and returns it in REST form. */
  createToken(application: Caller, request: JsonObject, signal: AbortSignal): Promise<Json>;
  runReactor: RunReactorStep;
}

/**
 * Each run of code may take 30 s (docs/code.md, Limits). After this time no further step starts: a list has up to 20.
 */
const MAX_MS = 30_000;

/** The message that expressions read. */
const READ_BY = { request_transform: "request", response_transform: "response" } as const;

interface TransformList {
  readonly kind: TransformKind;
  readonly steps: readonly ProxyStep[];
  /** What code sees of the request beside headers and body. */
  readonly head: JsonObject;
}

/** Runs the transforms of a proxy in order, each on the result of the one before. */
export class RunTransforms {
  readonly #parts: TransformParts;

  constructor(parts: TransformParts) {
    this.#parts = parts;
  }

  async request(
    scope: TransformScope,
    steps: readonly ProxyStep[],
    request: TransformableRequest,
    { signal, memory }: TransformedCall,
  ): Promise<TransformedRequest> {
    const { proxy } = scope;
    if (steps.length === 0 || !proxy) return { kind: "request", headers: request.headers, body: request.body };
    const bytes = await readResponseBody(request, MAX_BUFFERED_BYTES, memory);
    const problem = structureProblem(request.headers, bytes);
    if (problem)
      throw new BodyFault("structure", "malformed_body", `The body ${problem}.`, { fields: { body: [problem] } });
    const message = new Message(request.headers, bytes);
    await yieldToEventLoop(bytes.length);
    const { method, path, query } = request;
    const list = { kind: "request_transform", steps, head: { method, path, query } } as const;
    const response = await this.#run({ ...scope, proxy }, list, message, signal);
    if (response) return { kind: "response", response };
    return { kind: "request", headers: message.headers, body: message.bytes };
  }

  async response(
    scope: TransformScope,
    steps: readonly ProxyStep[],
    response: TransformedResponse & { readonly destinationStatus: number },
    { signal, memory }: TransformedCall,
  ): Promise<TransformedResponse & { readonly destinationStatus: number }> {
    const { proxy } = scope;
    if (!proxy) return response;
    const { headers, body } = await decodedBody(response, MAX_BUFFERED_BYTES, memory);
    const problem = structureProblem(headers, body);
    if (problem) throw new Fault("unprocessable", `The destination's response ${problem}.`);
    const message = new Message(headers, body);
    await yieldToEventLoop(body.length);
    const list = { kind: "response_transform", steps, head: {} } as const;
    const own = await this.#run({ ...scope, proxy }, list, message, signal);
    const { destinationStatus, status, statusText } = response;
    if (own) return { ...own, destinationStatus };
    return { status, statusText, headers: message.headers, body: message.bytes, destinationStatus };
  }

  async #run(
    { tenantId, context, caller, proxy }: TransformScope & { readonly proxy: LoadedProxy },
    { kind, steps, head }: TransformList,
    message: Message,
    signal: AbortSignal,
  ): Promise<TransformedResponse | undefined> {
    const application = await this.#parts.application(tenantId, proxy, context);
    const remembered: StepResults = new Map();
    const { id, revision, definition } = proxy.proxy;
    const fn = { tenantId, id, kind, application, configuration: definition.configuration, version: revision };
    const startedAt = performance.now();
    for (const step of steps) {
      if (performance.now() - startedAt > MAX_MS) throw tookTooLong();
      const expressions = new StepExpressions(remembered, { kind: READ_BY[kind], body: message.body });
      switch (step.type) {
        case "reactor": {
          const args = { body: message.body, headers: message.headersObject() };
          const call = { tenantId, caller, context, revision: proxy.revision, kind };
          const result = await this.#parts.runReactor(call, step, args, signal);
          if (result.kind === "answered") return codeResponse(result.response);
          message.take(result.value);
          break;
        }
        case "code": {
          const args = { body: message.body, headers: message.headersObject(), ...head };
          const own = { code: step.code, timeoutMs: runTimeoutMs(step.runtime) };
          const result = await this.#parts.functions.run({ ...fn, ...own }, args, signal);
          if (result.kind === "answered") return codeResponse(result.response);
          message.take(result.value);
          break;
        }
        case "mask": {
          const masked = await this.#parts.functions.run(
            { ...fn, application: undefined, configuration: {}, code: MASK_CODE },
            maskArguments(step.matcher, step.replacement, message.bytes.toString("utf8")),
            signal,
          );
          if (masked.kind === "returned") message.rewrite(maskedText(masked.value));
          break;
        }
        case "tokenize": {
          if (!application)
            throw new Fault("permission_denied", "This proxy has no application, so it may not create tokens.");
          const token = expressions.token(step.token);
          remembered.set(step.identifier, await this.#parts.createToken(application, token, signal));
          break;
        }
        case "append_json":
          message.body = expressions.append(message.body, step.location, step.value);
          break;
        case "append_header":
          message.headers = [...message.headers, headerPair(step.location, expressions.text(step.value, "value"))];
          break;
      }
    }
    return undefined;
  }
}

function tookTooLong(): FunctionFailed {
  return new FunctionFailed(500, "Reactor Runtime Error", { error: ["The transforms took too long."] });
}

function codeResponse({ status, headers, body }: FunctionResponse): TransformedResponse {
  const isText = typeof body === "string";
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const type: HeaderPair[] = hasType || isText ? [] : [["Content-Type", "application/json; charset=utf-8"]];
  return {
    status,
    statusText: "",
    headers: [...Object.entries(headers).map(([name, value]): HeaderPair => [name, value]), ...type],
    body: Buffer.from(isText ? body : JSON.stringify(body)),
  };
}
