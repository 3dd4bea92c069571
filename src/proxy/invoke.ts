import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import type { Authenticator } from "../access/authenticate.js";
import { actorOf, type Caller } from "../access/caller.js";
import { Refused, refuse } from "../access/refusal.js";
import { ALL, logEntry } from "../audit/log-entry.js";
import { Fault, invalid } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { KeyVersionUnknown } from "../crypto/sealed.js";
import { readDestination, requireNamedDestination } from "../egress/destination.js";
import { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";
import type { HeaderPair } from "../egress/request-framing.js";
import { writeLog } from "../store/audit-logs.js";
import type { Database } from "../store/database.js";
import { StaleAuthorization } from "../store/database-error.js";
import type { Transaction } from "../store/transaction.js";
import type { Keyring } from "../tenancy/keyring.js";
import { findTokens, tokenLookup } from "../tokens/detokenize.js";
import type { ReadableToken } from "../tokens/read.js";
import { bodyPlaces } from "./body-format.js";
import { readWhole } from "./buffered-body.js";
import { destinationTarget } from "./destination.js";
import { DestinationFailed } from "./destination-failed.js";
import { forwardedHeaders, forwardedQuery, headerValue, returnedHeaders } from "./forward.js";
import type { LoadedProxy, ProxyLoader } from "./load-proxy.js";
import { type ProxyDefinition, requestSteps, responseSteps } from "./proxy.js";
import { RequestReferences } from "./references.js";
import type { RunTransforms } from "./run-transforms.js";
import { placesInHeader } from "./splice/header.js";
import { placesInPath, placesInQuery } from "./splice/url.js";

/** The largest body that is read to look for references or to be transformed (specification, Limits). */
export const MAX_BUFFERED = 5 * 1024 * 1024;

/** A request that is to go through a proxy. */
export interface ProxyCall {
  readonly method: string;
  /** Behind /proxy: empty, or with its leading slash, as it came. */
  readonly path: string;
  /** Empty, or with its leading question mark, as it came. */
  readonly query: string;
  /** In the case and order in which they came. */
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  readonly apiKey: string | undefined;
  readonly target: ProxyTarget | undefined;
  readonly signal: AbortSignal;
}

/** Which proxy a call goes through. */
export type ProxyTarget =
  | { readonly kind: "configured"; readonly key: string }
  /** Made up by the caller for this call. */
  | { readonly kind: "ephemeral"; readonly url: string };

export interface ProxyAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Readable | Buffer;
  /** The destination's own status. */
  readonly destinationStatus: number;
}

export interface ProxyParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly authenticator: Authenticator;
  readonly loader: ProxyLoader;
  readonly agents: GuardedAgents;
  readonly transforms: RunTransforms;
}

/** Who calls through what. */
interface Route {
  readonly tenantId: TenantId;
  /** Whose rights references are replaced under; undefined for anonymous calls of a proxy without an application. */
  readonly caller: Caller | undefined;
  readonly proxy: LoadedProxy | undefined;
  readonly definition: ProxyDefinition;
  readonly revision: number;
}

const STALE_ATTEMPTS = 5;

/**
 * Sends a request on with the real values in it.
 * @throws {Fault} for everything that is not the destination's own answer; {@link DestinationFailed} once that answered.
 */
export async function invokeProxy(parts: ProxyParts, call: ProxyCall): Promise<ProxyAnswer> {
  let route = await chooseRoute(parts, call);
  const draft = await scan(call, route.definition);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const tokens = await authorize(parts, route, draft.references.tokenIds());
      const keys = await parts.keyring.of(route.tenantId);
      const { caller } = route;
      const lookup = caller ? tokenLookup(caller, keys, tokens) : () => undefined;
      draft.references.resolve(lookup, route.definition.configuration);
      break;
    } catch (error) {
      const isStale = error instanceof StaleAuthorization || error instanceof KeyVersionUnknown;
      if (!isStale || attempt === STALE_ATTEMPTS) throw error;
      if (error instanceof KeyVersionUnknown) parts.keyring.forget(route.tenantId);
      if (call.target?.kind === "configured") parts.loader.forget(call.target.key);
      if (call.apiKey) parts.authenticator.forget(call.apiKey);
      if (route.proxy?.proxy.applicationId)
        parts.authenticator.forgetApplication(route.tenantId, route.proxy.proxy.applicationId);
      route = await chooseRoute(parts, call);
    }
  }
  return forward(parts, call, route, draft);
}

async function chooseRoute(parts: ProxyParts, { target, apiKey }: ProxyCall): Promise<Route> {
  if (!target) {
    throw new Fault("validation_failed", "Name a proxy by its key in BT-PROXY-KEY, or a destination in BT-PROXY-URL.", {
      fields: {},
    });
  }
  if (target.kind === "ephemeral") {
    const caller = await parts.authenticator.authenticate(apiKey);
    requireNamedDestination("BT-PROXY-URL", target.url, parts.agents.policy);
    const definition = ephemeralDefinition(target.url);
    return { tenantId: caller.tenantId, caller, proxy: undefined, definition, revision: caller.revision };
  }
  const proxy = await parts.loader.find(target.key);
  const { tenantId, revision } = proxy;
  const { requireAuth, applicationId, definition } = proxy.proxy;
  if (!requireAuth) {
    const caller = applicationId ? await parts.authenticator.application(tenantId, applicationId) : undefined;
    return { tenantId, caller, proxy, definition, revision };
  }
  const caller = await parts.authenticator.authenticate(apiKey);
  // A key of another tenant learns nothing, not even that the proxy exists.
  if (caller.tenantId !== tenantId) throw new Fault("not_found", "There is no proxy with this key.");
  return { tenantId, caller, proxy, definition, revision: caller.revision };
}

function ephemeralDefinition(url: string): ProxyDefinition {
  return {
    destinationUrl: url,
    requestTransform: undefined,
    responseTransform: undefined,
    requestTransforms: [],
    responseTransforms: [],
    configuration: {},
  };
}

/** A request on its way: what was read of it, and what is replaced in it. */
interface Draft {
  path: string;
  query: string;
  headers: HeaderPair[];
  body: Readable | Buffer;
  readonly references: RequestReferences;
}

/** Finds the references in all parts of a request. Only bodies that are text, or that a transform wants, are read. */
async function scan(call: ProxyCall, definition: ProxyDefinition): Promise<Draft> {
  const draft: Draft = {
    path: call.path,
    query: forwardedQuery(call.query),
    headers: forwardedHeaders(call.headers),
    body: call.body,
    references: new RequestReferences(),
  };
  const { references } = draft;
  references.scan("path", draft.path, placesInPath, (path) => {
    draft.path = path;
  });
  references.scan("query", draft.query, placesInQuery, (query) => {
    draft.query = query;
  });
  for (const [index, [name, value]] of draft.headers.entries()) {
    references.scan(`headers.${name}`, value, placesInHeader, (text) => {
      requireHeaderValue(name, text);
      draft.headers[index] = [name, text];
    });
  }
  const find = bodyPlaces(headerValue(call.headers, "content-type"), headerValue(call.headers, "content-encoding"));
  if (find || requestSteps(definition).length > 0) {
    const body = await readWhole(call.body, MAX_BUFFERED);
    draft.body = body;
    if (find && body.length > 0) {
      const text = isUtf8(body) ? body.toString("utf8") : requireNoReferences(body);
      references.scan("body", text, find, (spliced) => {
        draft.body = Buffer.from(spliced);
      });
    }
  }
  return draft;
}

/** A body in another encoding goes through as it is; values could not be put into it without knowing which one. */
function requireNoReferences(body: Buffer): string {
  if (body.includes("{{")) throw invalid("body", "must be UTF-8 to hold expressions");
  return "";
}

/** A value must not start a header of its own. */
function requireHeaderValue(name: string, value: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(value)) {
    throw new Fault("validation_failed", "A header cannot hold this value.", {
      fields: { [`headers.${name}`]: ["must not become a value with line breaks or control characters"] },
    });
  }
}

/** Checks rights, finds the tokens and writes the log rows, all in one transaction. */
async function authorize(
  { database }: ProxyParts,
  route: Route,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadableToken>> {
  const { tenantId, caller, proxy, revision } = route;
  const found = await database.fast.run(tenantId, revision, async (tx) => {
    const refusal = refusalOf(tx, route, ids);
    if (refusal) return refusal;
    const tokens = caller ? await findTokens(tx, caller, ids, "token:use", "use") : new Map<string, ReadableToken>();
    if (tokens instanceof Refused) return tokens;
    const actor = caller ? actorOf(caller) : undefined;
    writeLog(tx, logEntry(actor, "proxy", proxy?.proxy.id ?? ALL, "invoke", proxy ? undefined : "ephemeral"));
    return tokens;
  });
  if (found instanceof Refused) throw found.fault;
  return found;
}

function refusalOf(tx: Transaction, { caller, proxy }: Route, ids: readonly string[]): Refused | undefined {
  const isAnonymous = proxy !== undefined && !proxy.proxy.requireAuth;
  if (isAnonymous) {
    if (ids.length === 0 || caller) return undefined;
    return new Refused(
      new Fault(
        "permission_denied",
        "This proxy takes calls without a key and has no application, so that it may not use tokens.",
      ),
    );
  }
  if (!caller) return new Refused(new Fault("unauthenticated", "Send an application key in the header BT-API-KEY."));
  if (!caller.grant.holds("token:use")) return refuse(tx, caller, "token:use", "proxy", proxy?.proxy.id ?? ALL);
  if (!proxy && caller.settings.disable_ephemeral_proxy) {
    return new Refused(new Fault("permission_denied", "This tenant does not allow ephemeral proxies."));
  }
  return undefined;
}

async function forward(parts: ProxyParts, call: ProxyCall, route: Route, draft: Draft): Promise<ProxyAnswer> {
  const { definition, tenantId } = route;
  const { method, signal } = call;
  const { path, query, headers, body } = draft;
  const url = definition.destinationUrl;
  const target = destinationTarget(url, path, query);
  checkAgain(parts.agents, url);
  const request = { method, path, query, headers, body, signal };
  const changed = await parts.transforms.request(route, requestSteps(definition), request);
  if (changed.kind === "answer") return { ...changed.answer, destinationStatus: 0 };
  const isEmpty = Buffer.isBuffer(changed.body) && changed.body.length === 0;
  const answer = await guardedRequest(parts.agents, {
    ...{ url, target, method, signal },
    headers: changed.headers,
    body: isEmpty ? undefined : changed.body,
    pool: tenantId,
  }).catch((error: unknown) => {
    throw error instanceof EgressError ? error.toFault() : error;
  });
  const plain: ProxyAnswer = {
    status: answer.status,
    statusText: answer.statusText,
    headers: returnedHeaders(answer.rawHeaders),
    body: answer.body,
    destinationStatus: answer.status,
  };
  const steps = responseSteps(definition);
  if (steps.length === 0 || answer.status < 200 || answer.status > 299) return plain;
  try {
    const transformed = await parts.transforms.response(route, steps, plain, signal);
    return { ...transformed, headers: returnedHeaders(transformed.headers) };
  } catch (error) {
    answer.body.destroy();
    throw new DestinationFailed(error, answer.status);
  }
}

/** Where a request goes is checked when it is saved and whenever it is called: lists and names change. */
function checkAgain({ policy }: GuardedAgents, url: string): void {
  try {
    const destination = readDestination(url, policy);
    if (!destination.isAddress || policy.judge(destination, destination.host).reason === "operator_allowed") return;
  } catch (error) {
    throw error instanceof EgressError ? error.toFault() : error;
  }
  throw new Fault("destination_unreachable", "The destination must be named by a host, not an address.");
}
