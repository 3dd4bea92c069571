import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import type { Caller } from "../access/caller.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { FunctionFailed } from "../functions/function-failed.js";
import type { FunctionAnswer, FunctionRunner } from "../functions/function-runner.js";
import type { FunctionKind } from "../sandbox/limits.js";
import { isJsonBody } from "./body-format.js";
import { readWhole } from "./buffered-body.js";
import { headerValue } from "./forward.js";
import type { LoadedProxy } from "./load-proxy.js";
import { MASK_CODE, maskArguments, maskedBody } from "./mask-transform.js";
import { type Remembered, StepExpressions } from "./step-expressions.js";
import type { Transform } from "./transform.js";

/** A request as its transforms see it. */
export interface TransformableRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  readonly signal: AbortSignal;
}

export interface TransformedAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
}

export type TransformedRequest =
  | { readonly kind: "request"; readonly headers: readonly HeaderPair[]; readonly body: Readable | Buffer }
  /** A transform answered in place of the destination. */
  | { readonly kind: "answer"; readonly answer: TransformedAnswer };

/** On whose behalf transforms run. */
export interface TransformScope {
  readonly tenantId: TenantId;
  readonly proxy: LoadedProxy | undefined;
}

export interface TransformParts {
  readonly functions: FunctionRunner;
  /** The proxy's application as a caller. */
  application(tenantId: TenantId, proxy: LoadedProxy): Promise<Caller | undefined>;
  /** Makes a token as that application; answers the token as REST shows it. */
  createToken(application: Caller, request: JsonObject, signal: AbortSignal): Promise<Json>;
}

/** The largest body that transforms see (specification, Limits). */
const MAX_BODY = 5 * 1024 * 1024;

/** A body and headers on their way through the steps. */
interface Message {
  headers: HeaderPair[];
  /** Parsed, where the body is JSON; else its text. */
  body: Json;
}

/** Runs the transforms of a proxy, in order, each on what the one before left. */
export class RunTransforms {
  readonly #parts: TransformParts;

  constructor(parts: TransformParts) {
    this.#parts = parts;
  }

  async request(
    scope: TransformScope,
    steps: readonly Transform[],
    request: TransformableRequest,
  ): Promise<TransformedRequest> {
    const { proxy } = scope;
    if (steps.length === 0 || !proxy) return { kind: "request", headers: request.headers, body: request.body };
    const message = readMessage(request.headers, await readWhole(request.body, MAX_BODY));
    const { method, path, query, signal } = request;
    const answer = await this.#run(
      scope.tenantId,
      proxy,
      "request_transform",
      steps,
      message,
      { method, path, query },
      signal,
    );
    if (answer) return { kind: "answer", answer };
    return { kind: "request", ...writeMessage(message) };
  }

  async response(
    scope: TransformScope,
    steps: readonly Transform[],
    answer: TransformedAnswer & { readonly destinationStatus: number },
    signal: AbortSignal,
  ): Promise<TransformedAnswer & { readonly destinationStatus: number }> {
    const { proxy } = scope;
    if (!proxy) return answer;
    const { headers, body } = await decoded(answer);
    const message = readMessage(headers, body);
    const own = await this.#run(scope.tenantId, proxy, "response_transform", steps, message, {}, signal);
    const { destinationStatus, status, statusText } = answer;
    return own ? { ...own, destinationStatus } : { ...writeMessage(message), status, statusText, destinationStatus };
  }

  async #run(
    tenantId: TenantId,
    proxy: LoadedProxy,
    kind: FunctionKind,
    steps: readonly Transform[],
    message: Message,
    extra: JsonObject,
    signal: AbortSignal,
  ): Promise<TransformedAnswer | undefined> {
    const application = await this.#parts.application(tenantId, proxy);
    const remembered: Remembered = new Map();
    const { id, revision, definition } = proxy.proxy;
    const fn = { tenantId, id, kind, application, configuration: definition.configuration, version: revision };
    for (const step of steps) {
      const expressions = new StepExpressions(remembered, kind === "response_transform" ? message.body : undefined);
      switch (step.type) {
        case "code": {
          const args = { body: message.body, headers: headersObject(message.headers), ...extra };
          const result = await this.#parts.functions.run({ ...fn, code: step.code }, args, signal);
          if (result.kind === "answered") return answerOf(result.answer);
          takeReturned(message, result.value);
          break;
        }
        case "mask": {
          const masked = await this.#parts.functions.run(
            { ...fn, application: undefined, configuration: {}, code: MASK_CODE },
            maskArguments(step.matcher, step.replacement, message.body),
            signal,
          );
          if (masked.kind === "returned") message.body = maskedBody(masked.value, message.body);
          break;
        }
        case "tokenize": {
          if (!application)
            throw new Fault("permission_denied", "This proxy has no application, so that it may not create tokens.");
          const token = expressions.object(step.token, "token");
          remembered.set(step.identifier, await this.#parts.createToken(application, token, signal));
          break;
        }
        case "append_json":
          message.body = expressions.append(message.body, step.location, step.value);
          break;
        case "append_header":
          message.headers = [...message.headers, [step.location, expressions.text(step.value, "value")]];
          break;
      }
    }
    return undefined;
  }
}

function readMessage(headers: readonly HeaderPair[], bytes: Buffer): Message {
  const text = bytes.toString("utf8");
  if (!isJsonBody(headerValue(headers, "content-type"))) return { headers: [...headers], body: text };
  return { headers: [...headers], body: parseJson(text) };
}

/** A body that calls itself JSON and is none reaches the code as the text that it is. */
function parseJson(text: string): Json {
  try {
    const parsed: Json = JSON.parse(text);
    return parsed;
  } catch {
    return text;
  }
}

function writeMessage({ headers, body }: Message): { headers: HeaderPair[]; body: Buffer } {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { headers: headers.filter(([name]) => name.toLowerCase() !== "content-length"), body: Buffer.from(text) };
}

function headersObject(headers: readonly HeaderPair[]): JsonObject {
  const object: Record<string, string> = {};
  for (const [name, value] of headers) object[name] = object[name] === undefined ? value : `${object[name]}, ${value}`;
  return object;
}

function takeReturned(message: Message, value: Json): void {
  const headers = isJsonObject(value) ? value.headers : undefined;
  if (!isJsonObject(value) || value.body === undefined || !isJsonObject(headers)) {
    throw new FunctionFailed(500, "Reactor Runtime Error", {
      error: ["A transform must return an object with body and headers."],
    });
  }
  message.body = value.body;
  message.headers = Object.entries(headers).flatMap(([name, text]) =>
    text === null || typeof text === "object" ? [] : [[name, String(text)] as const],
  );
}

function answerOf({ status, headers, body }: FunctionAnswer): TransformedAnswer {
  const isText = typeof body === "string";
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const type: HeaderPair[] = hasType || isText ? [] : [["Content-Type", "application/json; charset=utf-8"]];
  return {
    ...{ status, statusText: "" },
    headers: [...Object.entries(headers).map(([name, value]): HeaderPair => [name, value]), ...type],
    body: Buffer.from(isText ? body : JSON.stringify(body)),
  };
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: (bytes) => promisify(gunzip)(bytes, { maxOutputLength: MAX_BODY }),
  "x-gzip": (bytes) => promisify(gunzip)(bytes, { maxOutputLength: MAX_BODY }),
  br: (bytes) => promisify(brotliDecompress)(bytes, { maxOutputLength: MAX_BODY }),
  deflate: (bytes) => promisify(inflate)(bytes, { maxOutputLength: MAX_BODY }),
};

/** Code sees what the destination meant, not how it was packed: it goes on to the caller unpacked. */
async function decoded({ headers, body }: TransformedAnswer): Promise<{ headers: HeaderPair[]; body: Buffer }> {
  const bytes = await readWhole(body, MAX_BODY);
  const encoding = headerValue(headers, "content-encoding")?.trim().toLowerCase();
  const kept = headers.filter(([name]) => !["content-encoding", "content-length"].includes(name.toLowerCase()));
  if (encoding === undefined || encoding === "identity") return { headers: kept, body: bytes };
  const decode = DECODERS[encoding];
  if (!decode)
    throw new Fault("unprocessable", "The destination's answer has an encoding that cannot be undone for a transform.");
  try {
    return { headers: kept, body: await decode(bytes) };
  } catch {
    throw new Fault("unprocessable", "The destination's answer is too large, or not encoded as it says.");
  }
}
