import type { Authenticator } from "../access/authenticate.js";
import { doneOnce, withFreshRights } from "../access/fresh-rights.js";
import { recordingDenials } from "../access/refusal.js";
import { Fault } from "../base/fault.js";
import { KeyVersionUnknown } from "../crypto/sealed.js";
import { type Destination, readDestination } from "../egress/destination.js";
import { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";
import type { Database } from "../store/database.js";
import type { Keyring } from "../tenancy/keyring.js";
import { openTokens } from "../tokens/detokenize.js";
import type { BinTable } from "../tokens/types/bin-table.js";
import { authorize, refuseReason, requireRight } from "./authorize.js";
import type { ProxyCall, ProxyResponse } from "./call.js";
import { DestinationFailed } from "./destination-failed.js";
import { exchangeFailure } from "./exchange-failure.js";
import { returnedHeaders } from "./forward.js";
import type { ProxyLoader } from "./load-proxy.js";
import { baseUrl, requestSteps, responseSteps } from "./proxy.js";
import { destinationTarget } from "./request-target.js";
import { chooseRoute, forgetRoute, type Route, requireOneRevision } from "./route.js";
import type { RunTransforms } from "./run-transforms.js";
import { type ScannedRequest, scanReferences } from "./scanned-request.js";

export interface ProxyParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly authenticator: Authenticator;
  readonly loader: ProxyLoader;
  readonly agents: GuardedAgents;
  readonly transforms: RunTransforms;
  readonly bins: BinTable | undefined;
}

/**
 * Forwards a request with its references replaced.
 * @throws {Fault} for everything except the destination's own response; {@link DestinationFailed} after a response.
 */
export async function invokeProxy(parts: ProxyParts, call: ProxyCall): Promise<ProxyResponse> {
  const { route, scanned } = await prepareCall(parts, call);
  return forward(parts, call, route, scanned);
}

interface PreparedCall {
  readonly route: Route;
  /** With references replaced. */
  readonly scanned: ScannedRequest;
}

/** Chooses the route, reads the request and replaces its references, unless any of that is refused. */
async function prepareCall(parts: ProxyParts, call: ProxyCall): Promise<PreparedCall> {
  const { database, keyring, authenticator, loader, agents, bins } = parts;
  const finders = { authenticator, loader, policy: agents.policy };
  let scanned: ScannedRequest | undefined;
  let hasReserved = false;
  let chosen: Route | undefined;
  const attempt = async () => {
    chosen = undefined;
    const route = await recordingDenials(database, () => chooseRoute(finders, call));
    chosen = route;
    requireOneRevision(route);
    const { tenantId, caller, application, proxy } = route;
    call.onOwner?.({ tenantId, caller: caller ?? application, keyHolder: caller, proxy });
    const keys = await keyring.of(tenantId);
    await requireRight({ database, keys }, route);
    if (!hasReserved) await reserveDefinition(route, call);
    hasReserved = true;
    if (call.audit.badReason) await refuseReason(database, route, call.audit.badReason);
    const { disableDetokenization } = route.definition;
    const hasSteps = requestSteps(route.definition).length > 0;
    scanned ??= await scanReferences(call, { isDetokenizing: !disableDetokenization, hasSteps });
    const tokens = await authorize({ database, keys }, route, scanned.references.tokenIds(), call.memory);
    const lookup = await openTokens(keys, tokens, bins);
    scanned.references.resolve(lookup, route.definition.configuration);
    return { route, scanned };
  };
  return withFreshRights(attempt, (stale) => {
    if (!chosen) throw stale;
    if (stale instanceof KeyVersionUnknown) keyring.forget(chosen.tenantId);
    forgetRoute(finders, call, chosen);
  });
}

/** Definitions of this size and more count like bodies: one may have 5 MB of transforms, and lives as long as its calls. */
const LARGE_DEFINITION_BYTES = 64 * 1024;

/** The call then holds large memory, and does not wait for large tokens if it has some: it gets a 503. */
async function reserveDefinition({ proxy }: Route, { memory }: ProxyCall): Promise<void> {
  const bytes = proxy?.definitionBytes ?? 0;
  if (bytes > LARGE_DEFINITION_BYTES) await memory.reserveRead(bytes);
}

async function forward(
  parts: ProxyParts,
  call: ProxyCall,
  route: Route,
  scanned: ScannedRequest,
): Promise<ProxyResponse> {
  const { definition, tenantId } = route;
  const { method, signal, memory } = call;
  const { path, query } = scanned.head;
  const base = route.proxy ? baseUrl(definition) : definition.destinationUrl;
  const target = destinationTarget(base, path, query);
  const url = checkedAgain(parts.agents, base);
  const request = { method, path, query, ...scanned.body.send(scanned.head.headers) };
  const changed = await doneOnce(() =>
    parts.transforms.request(route, requestSteps(definition), request, { signal, memory }),
  );
  if (changed.kind === "response") return { ...changed.response, destinationStatus: 0 };
  const isEmpty = Buffer.isBuffer(changed.body) && changed.body.length === 0;
  // Without `timeouts`: the defaults of src/egress/exchange.ts apply.
  const response = await guardedRequest(parts.agents, {
    url,
    target,
    method,
    signal,
    headers: changed.headers,
    body: isEmpty ? undefined : changed.body,
    pool: tenantId,
  }).catch((error: unknown) => {
    throw scanned.body.refused ?? exchangeFailure(error, signal);
  });
  const plain: ProxyResponse = {
    status: response.status,
    statusText: response.statusText,
    headers: returnedHeaders(response.rawHeaders),
    body: response.body,
    destinationStatus: response.status,
  };
  const steps = responseSteps(definition);
  if (steps.length === 0 || response.status < 200 || response.status > 299) return plain;
  try {
    const transformed = await doneOnce(() => parts.transforms.response(route, steps, plain, { signal, memory }));
    return { ...transformed, headers: returnedHeaders(transformed.headers) };
  } catch (error) {
    response.body.destroy();
    throw new DestinationFailed(exchangeFailure(error, signal), response.status);
  }
}

/** A destination is checked when it is saved and at every call, because lists and names change. */
function checkedAgain({ policy }: GuardedAgents, url: string): Destination {
  try {
    const destination = readDestination(url, policy);
    if (destination.isNamed) return destination;
  } catch (error) {
    throw error instanceof EgressError ? error.toFault() : error;
  }
  throw new Fault("destination_unreachable", "The destination must be named by a host, not an address.");
}
