import { randomUUID } from "node:crypto";
import type { Caller } from "../access/caller.js";
import { Fault, invalid } from "../base/fault.js";
import type { Json, JsonObject } from "../base/json.js";
import { Sensitive } from "../crypto/sensitive.js";
import { requireNamedDestination } from "../egress/destination.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { FunctionFailed } from "../functions/function-failed.js";
import { TESTED_ID, type TestRunner } from "../functions/test-run.js";
import type { RequestMemory } from "../memory/request-memory.js";
import { MAX_BUFFERED_BYTES } from "./body/incoming-body.js";
import { hasUtf16Reference } from "./body/reference-scanner.js";
import { detectBodyFormat } from "./body-format.js";
import { readResponseBody } from "./buffered-body.js";
import { exchangeFailure } from "./exchange-failure.js";
import { forwardedHeaders, headerValues, returnedHeaders } from "./forward.js";
import type { LoadedProxy } from "./load-proxy.js";
import { destinationTarget } from "./request-target.js";
import { RunTransforms, type TransformableRequest, type TransformedResponse } from "./run-transforms.js";
import { placesInHeader } from "./splice/header.js";
import type { FindPlaces } from "./splice/place.js";
import { placesInPath } from "./splice/url.js";
import type { Step } from "./transform.js";

export interface ProxySample {
  readonly requestSteps: readonly Step[];
  readonly responseSteps: readonly Step[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly request: SampleRequest;
  readonly response: SampleResponse | undefined;
  /** A real destination to call instead of using a sample response. */
  readonly destinationUrl: string | undefined;
}

export interface SampleRequest extends TransformableRequest {
  readonly body: Buffer;
}

export interface SampleResponse {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
}

export interface ProxyTest {
  /** The request for the destination; undefined if a transform failed, or answered itself. */
  readonly request: SampleRequest | undefined;
  /** The response for the caller; undefined if a transform failed, or there was no response to transform. */
  readonly response: SampleResponse | undefined;
  readonly failure: FunctionFailed | undefined;
}

export interface ProxyTesting {
  readonly runner: TestRunner;
  readonly agents: GuardedAgents;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly memory: RequestMemory;
}

/** The destination of the request if none is called. */
const NOWHERE = "https://destination.invalid";

/**
 * Sends a request through transforms as a proxy would.
 * @throws {Fault} validation_failed naming fields; unavailable if code could not run now; errors of a proxy whose
 * destination does not respond.
 */
export async function testProxy(testing: ProxyTesting, sample: ProxySample): Promise<ProxyTest> {
  const { agents } = testing;
  const { request, destinationUrl } = sample;
  if (destinationUrl !== undefined) requireNamedDestination("destination_url", destinationUrl, agents.policy);
  const target = destinationTarget(destinationUrl ?? NOWHERE, request.path, request.query);
  let sent: SampleRequest | undefined;
  try {
    const changed = await transformRequest(testing, sample);
    if (changed.kind === "response") {
      return { request: undefined, response: await wholeResponse(changed.response, testing), failure: undefined };
    }
    const body = await readResponseBody(changed, MAX_BUFFERED_BYTES, testing.memory);
    sent = { ...request, headers: changed.headers, body };
    const response = destinationUrl === undefined ? sample.response : await call(testing, destinationUrl, target, sent);
    if (!response) return { request: sent, response: undefined, failure: undefined };
    return { request: sent, response: await transformResponse(testing, sample, response), failure: undefined };
  } catch (error) {
    return { request: sent, response: undefined, failure: failureToTell(testing.runner, error) };
  }
}

/** An error of transforms that a proxy's caller would get is a result here, not an error of the test. */
function failureToTell({ runs }: TestRunner, error: unknown): FunctionFailed {
  if (error instanceof FunctionFailed) return runs.at(-1)?.failure ?? error;
  if (error instanceof StepRefused) return new FunctionFailed(400, error.fault.message, error.fault.fields ?? {});
  throw error;
}

/** A declarative step failed: for example, its expression found nothing. */
class StepRefused extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super("a step of a tested proxy was refused");
    this.fault = fault;
  }
}

async function asSteps<T>(steps: Promise<T>): Promise<T> {
  return steps.catch((error: unknown) => {
    throw error instanceof Fault && error.code === "validation_failed" ? new StepRefused(error) : error;
  });
}

function transformRequest(testing: ProxyTesting, { requestSteps, request, configuration }: ProxySample) {
  const { signal, memory } = testing;
  const { proxy, transforms } = madeUp(testing, configuration);
  const { tenantId, context } = testing.caller;
  const headers = forwardedHeaders(request.headers);
  return asSteps(
    transforms.request({ tenantId, context, proxy }, requestSteps, { ...request, headers }, { signal, memory }),
  );
}

/** As in a proxy, only successful responses are transformed. */
async function transformResponse(
  testing: ProxyTesting,
  sample: ProxySample,
  response: SampleResponse,
): Promise<SampleResponse> {
  const { signal, memory } = testing;
  const { responseSteps, configuration } = sample;
  const headers = returnedHeaders(response.headers);
  if (responseSteps.length === 0 || response.status > 299) return { ...response, headers };
  const { proxy, transforms } = madeUp(testing, configuration);
  const plain = { ...response, headers, statusText: "", destinationStatus: response.status };
  const { tenantId, context } = testing.caller;
  const scope = { tenantId, context, proxy };
  return wholeResponse(await asSteps(transforms.response(scope, responseSteps, plain, { signal, memory })), testing);
}

async function wholeResponse(
  { status, headers, body }: TransformedResponse,
  { memory }: ProxyTesting,
): Promise<SampleResponse> {
  return {
    status,
    headers: returnedHeaders(headers),
    body: await readResponseBody({ headers, body }, MAX_BUFFERED_BYTES, memory),
  };
}

/**
 * A proxy without a destination, and transforms that act as no one: the test answers all calls, and a step that creates
 * a token gets a made-up one. The caller takes the place of the application that such a step requires.
 */
function madeUp({ runner, caller }: ProxyTesting, configuration: Readonly<Record<string, string>>) {
  const transforms = new RunTransforms({
    functions: runner,
    application: async () => caller,
    createToken: async (_application, token): Promise<Json> => madeUpToken(token),
    runReactor: () => Promise.reject(new Error("transforms under test cannot be reactors")),
  });
  const proxy: LoadedProxy = {
    tenantId: caller.tenantId,
    revision: 0,
    definitionBytes: 0,
    proxy: {
      id: TESTED_ID,
      name: "test",
      key: new Sensitive(""),
      applicationId: undefined,
      requireAuth: true,
      revision: 0,
      createdBy: null,
      createdAt: new Date(0),
      modifiedBy: null,
      modifiedAt: null,
      definition: {
        destinationUrl: NOWHERE,
        requestTransform: undefined,
        responseTransform: undefined,
        requestReactorId: undefined,
        responseReactorId: undefined,
        disableDetokenization: false,
        requestTransforms: [],
        responseTransforms: [],
        configuration,
      },
    },
  };
  return { proxy, transforms };
}

function madeUpToken(token: JsonObject): JsonObject {
  return { type: "token", ...token, id: randomUUID() };
}

/** Whether a real call would replace or refuse braces of the request, in whatever spelling its format allows. */
function holdsExpression(target: string, headers: readonly HeaderPair[], body: Buffer): boolean {
  const parts: readonly (readonly [FindPlaces, string])[] = [
    [placesInPath, target],
    ...headers.map(([, value]) => [placesInHeader, value] as const),
    ...headerValues(headers, "content-type").flatMap((type) => {
      const format = detectBodyFormat(type);
      return format.kind === "text" ? [[format.find, body.toString("utf8")] as const] : [];
    }),
  ];
  const finds = ([find, text]: (typeof parts)[number]) => !find(text)[Symbol.iterator]().next().done;
  return body.includes("{{") || hasUtf16Reference(body) || parts.some(finds);
}

async function call(
  { agents, caller, signal, memory }: ProxyTesting,
  url: string,
  target: string,
  { method, headers, body }: SampleRequest,
): Promise<SampleResponse> {
  if (holdsExpression(target, headers, body))
    throw invalid("request", "must hold no expressions where destination_url is called: a test resolves none");
  try {
    const response = await guardedRequest(agents, {
      url,
      target,
      method,
      headers,
      signal,
      pool: caller.tenantId,
      body: body.length === 0 ? undefined : body,
    });
    return {
      status: response.status,
      headers: response.rawHeaders,
      body: await readResponseBody({ headers: response.rawHeaders, body: response.body }, MAX_BUFFERED_BYTES, memory),
    };
  } catch (error) {
    throw exchangeFailure(error, signal);
  }
}
