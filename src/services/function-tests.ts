import { validateHeaderName, validateHeaderValue } from "node:http";
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import type { TestedCallSchema, TestOutside as TestOutsideMessage } from "../../gen/cloakroom/v1/functions_pb.js";
import {
  type HttpHeader,
  ProxyService,
  type ProxyTransform,
  type TestedStepSchema,
  type TestProxyRequest,
  type TestProxyResponseSchema,
} from "../../gen/cloakroom/v1/proxies_pb.js";
import {
  ReactorService,
  type TestReactorRequest,
  type TestReactorResponseSchema,
} from "../../gen/cloakroom/v1/reactors_pb.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { ANY_ENTITY_ID, type EntityType } from "../audit/log-entry.js";
import { invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { requireShort } from "../functions/code.js";
import type { ObservedRun } from "../functions/observed-run.js";
import type { SetUpTest, TestSetup } from "../functions/test-run.js";
import type { TestStubs } from "../functions/test-stubs.js";
import { type NamedStep, requireUsableSteps } from "../proxy/check-steps.js";
import { resolvedSample, scanSample } from "../proxy/resolve-sample.js";
import { type ProxySample, type ProxyTest, testProxy } from "../proxy/test-proxy.js";
import { parseTransform, type Step } from "../proxy/transform.js";
import { tokensOfArgs } from "../reactors/react.js";
import { type ReactorTest, testReactor } from "../reactors/test-reactor.js";
import { detokenize, openTokens } from "../tokens/detokenize.js";
import { findSampleTokens } from "../tokens/sample-tokens.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { type Call, type ServedMethod, serve } from "./call.js";
import { transformDraft } from "./proxies.js";
import { showConsole, showError, showUsage } from "./show-run.js";
import { toJson, toValue } from "./value.js";

export interface FunctionTestParts {
  readonly setUpTest: SetUpTest;
  readonly agents: GuardedAgents;
  readonly bins: BinTable | undefined;
}

export function functionTestService({ setUpTest, agents, bins }: FunctionTestParts): ServedMethod[] {
  return [
    serve(ReactorService.method.testReactor, async (request, call) => {
      const { caller, signal } = call;
      const { code, configuration, evaluateTokens: isEvaluated = false } = request;
      requireShort("code", code);
      requireNoValuesOutside(request);
      const given = request.args ? toJson(request.args, "args") : {};
      const ids = isEvaluated ? tokensOfArgs(given) : [];
      const setup = setUpTest(caller.tenantId, outsideOf(request.outside));
      // Its row stays if the tokens are refused.
      await call.commit((tx) => logTest(tx, "reactor"));
      const args = isEvaluated ? detokenize(given, "args", await openSampleTokens(call, ids, bins)) : given;
      const sample = { code, configuration, args, isEvaluated };
      const test = await testReactor(setup.runner, caller.tenantId, sample, signal);
      return { ...showReactorTest(test), calls: showCalls(setup) };
    }),
    serve(ProxyService.method.testProxy, async (request, call) => {
      const { caller, signal } = call;
      requireNoValuesOutside(request);
      const setup = setUpTest(caller.tenantId, outsideOf(request.outside));
      const given = proxySampleOf(request);
      // Its row stays if the tokens are refused.
      await call.commit((tx) => logTest(tx, "proxy"));
      const sample = request.evaluateTokens ? await withTokens(given, call, bins) : given;
      const test = await testProxy({ runner: setup.runner, agents, caller, signal, memory: call.memory }, sample);
      return { ...showProxyTest(test), steps: setup.runner.runs.map(showStep), calls: showCalls(setup) };
    }),
  ];
}

/** @throws {Fault} validation_failed if the values of a test could leave it. */
function requireNoValuesOutside(request: TestProxyRequest | TestReactorRequest): void {
  const { evaluateTokens = false, outside } = request;
  const destinationUrl = "destinationUrl" in request ? request.destinationUrl : undefined;
  if (!evaluateTokens) return;
  const way = destinationUrl !== undefined ? "destination_url" : outside?.network ? "outside.network" : undefined;
  if (way) throw invalid("evaluate_tokens", `must not be given with ${way}, which would send masked values`);
}

type TokenReadingCall = Pick<Call<DescMessage>, "commit" | "keys" | "memory">;

/** The masked values of a sample's tokens. A caller who reads no tokens is refused before any is looked up. */
async function openSampleTokens(call: TokenReadingCall, ids: readonly string[], bins: BinTable | undefined) {
  return openTokens(call.keys, await call.commit((tx) => findSampleTokens(tx, ids)), bins);
}

async function withTokens(sample: ProxySample, call: TokenReadingCall, bins: BinTable | undefined) {
  const scanned = await scanSample(sample, call.memory);
  const lookup = await openSampleTokens(call, scanned.references.tokenIds(), bins);
  return resolvedSample(sample, scanned, lookup);
}

async function logTest(tx: CallerTransaction, entityType: EntityType): Promise<undefined> {
  tx.log(entityType, ANY_ENTITY_ID, "test");
}

function outsideOf(outside: TestOutsideMessage | undefined): TestStubs {
  return {
    network: outside?.network ?? false,
    hasBt: outside?.hasBt ?? false,
    fetch: (outside?.fetch ?? []).map(({ method, url, status = 200, headers, body }, index) => ({
      method,
      url,
      status,
      headers,
      body: jsonOr("", body, `outside.fetch[${index}].body`),
    })),
    bt: (outside?.bt ?? []).map(({ method, status = 200, body }, index) => ({
      method,
      status,
      body: jsonOr(null, body, `outside.bt[${index}].body`),
    })),
  };
}

function jsonOr(absent: Json, value: Value | undefined, field: string): Json {
  return value ? toJson(value, field) : absent;
}

function showReactorTest({ run, failure, returned, response, warnings }: ReactorTest) {
  const shown: MessageInitShape<typeof TestReactorResponseSchema> = {
    ...(returned === undefined ? {} : { returned: toValue(wellFormed(returned)) }),
    ...(failure ? { error: showError(failure) } : {}),
    ...(response
      ? {
          response: {
            status: response.status,
            headers: Object.entries(response.headers).map(([name, value]) => ({ name, value })),
            body: toValue(wellFormed(response.body)),
          },
        }
      : {}),
    console: showConsole(run?.console ?? []),
    ...showUsage(run?.usage),
    warnings: [...warnings],
  };
  return shown;
}

/** Replaces lone surrogates, which no message can carry. */
function wellFormed(value: Json): Json {
  const text = JSON.stringify(value);
  if (!/\\ud[89a-f]/i.test(text)) return value;
  const mended: Json = JSON.parse(text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/gi, "$1\\ufffd"));
  return mended;
}

function proxySampleOf(message: TestProxyRequest): ProxySample {
  const { request, answer: response, destinationUrl, configuration } = message;
  return {
    requestSteps: testedSteps(message.requestTransforms, "request_transforms", false),
    responseSteps: testedSteps(message.responseTransforms, "response_transforms", true),
    configuration,
    destinationUrl,
    request: {
      method: request?.method ?? "POST",
      path: request?.path ?? "",
      query: testedQuery(request?.query ?? ""),
      ...contentOf(request?.headers ?? [], request?.body, "request"),
    },
    response: response && {
      status: response.status || 200,
      ...contentOf(response.headers, response.body, "answer"),
    },
  };
}

function testedSteps(transforms: readonly ProxyTransform[], field: string, isResponse: boolean): Step[] {
  const steps = transforms.map((message, index): NamedStep => {
    const place = `${field}[${index}]`;
    const transform = parseTransform(transformDraft(message), place, isResponse);
    if (transform.type === "code") requireShort(`${place}.code`, transform.code);
    return [place, transform];
  });
  requireUsableSteps(steps, isResponse);
  return steps.map(([, transform]) => transform);
}

function testedQuery(query: string): string {
  return query === "" || query.startsWith("?") ? query : `?${query}`;
}

/** Text is sent unchanged, everything else as JSON, with a Content-Type header unless one is given. */
function contentOf(given: readonly HttpHeader[], body: Value | undefined, field: string) {
  const headers = given.map((header, index) => testedHeader(header, `${field}.headers[${index}]`));
  const json = jsonOr("", body, `${field}.body`);
  if (typeof json === "string") return { headers, body: Buffer.from(json) };
  const isTyped = headers.some(([name]) => name.toLowerCase() === "content-type");
  const type: HeaderPair[] = isTyped ? [] : [["Content-Type", "application/json"]];
  return { headers: [...headers, ...type], body: Buffer.from(JSON.stringify(json)) };
}

/** @throws {Fault} validation_failed if HTTP cannot carry it. */
function testedHeader({ name, value }: HttpHeader, field: string): HeaderPair {
  const isSendable = (validate: () => void) => {
    try {
      validate();
      return true;
    } catch {
      return false;
    }
  };
  if (!isSendable(() => validateHeaderName(name))) throw invalid(`${field}.name`, "must be a header name");
  if (!isSendable(() => validateHeaderValue(name, value))) {
    throw invalid(`${field}.value`, "must be a header value, without line breaks");
  }
  return [name, value];
}

function showProxyTest({ request, response, failure }: ProxyTest) {
  const shown: MessageInitShape<typeof TestProxyResponseSchema> = {
    ...(request
      ? { request: { method: request.method, path: request.path, query: request.query, ...showContent(request) } }
      : {}),
    ...(response ? { answer: { status: response.status, ...showContent(response) } } : {}),
    ...(failure ? { error: showError(failure) } : {}),
  };
  return shown;
}

function showContent({ headers, body }: { readonly headers: readonly HeaderPair[]; readonly body: Buffer }) {
  return { headers: headers.map(([name, value]) => ({ name, value })), body: toValue(wellFormed(shownBody(body))) };
}

/** JSON bodies as JSON, all others as text. */
function shownBody(bytes: Buffer): Json {
  const text = bytes.toString("utf8");
  try {
    const parsed: Json = JSON.parse(text);
    return typeof parsed === "object" ? parsed : text;
  } catch {
    return text;
  }
}

function showStep({ kind, failure, console, usage }: ObservedRun): MessageInitShape<typeof TestedStepSchema> {
  return {
    kind,
    ...(failure ? { error: showError(failure) } : {}),
    console: showConsole(console),
    ...showUsage(usage),
  };
}

function showCalls({ hosts }: TestSetup): MessageInitShape<typeof TestedCallSchema>[] {
  return hosts.calls.map(({ to, method, url, answeredBy, status }) => ({
    to,
    method,
    answeredBy,
    ...(url === undefined ? {} : { url: url.toWellFormed() }),
    ...(status === undefined ? {} : { status }),
  }));
}
