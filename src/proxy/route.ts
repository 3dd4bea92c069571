import type { Authenticator } from "../access/authenticate.js";
import type { Caller } from "../access/caller.js";
import { parseKey } from "../access/key-text.js";
import type { AuditContext } from "../audit/audit-context.js";
import { Fault } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { requireNamedDestination } from "../egress/destination.js";
import type { EgressPolicy } from "../egress/egress-policy.js";
import { StaleAuthorization } from "../store/postgres/database-error.js";
import type { ProxyCall } from "./call.js";
import type { LoadedProxy, ProxyLoader } from "./load-proxy.js";
import type { ProxyDefinition } from "./proxy.js";

export interface RouteParts {
  readonly authenticator: Authenticator;
  readonly loader: ProxyLoader;
  readonly policy: EgressPolicy;
}

export interface Route {
  readonly tenantId: TenantId;
  /** What log rows say of the call, also where it has no caller. */
  readonly context: AuditContext;
  /** The holder of the request's key. Undefined if the proxy requires none and the request has no valid one. */
  readonly caller: Caller | undefined;
  /** The application of a proxy that requires no key. Its rights apply where the caller's do not suffice. */
  readonly application: Caller | undefined;
  readonly proxy: LoadedProxy | undefined;
  readonly definition: ProxyDefinition;
  /** The revision of one of the cached parts: see {@link requireOneRevision}. */
  readonly revision: number;
}

/**
 * Finds the caller and proxy of a call, using the caches.
 * @throws {Fault} unauthenticated; not_found for an unknown proxy; validation_failed without a destination; {Denied} for
 * the key of a page.
 */
export async function chooseRoute(
  parts: RouteParts,
  { target, apiKey, audit: { context } }: ProxyCall,
): Promise<Route> {
  if (!target) {
    throw new Fault("validation_failed", "Name a proxy by its key in BT-PROXY-KEY, or a destination in BT-PROXY-URL.", {
      fields: {},
    });
  }
  if (target.kind === "ephemeral") {
    const caller = await parts.authenticator.authenticate(apiKey, context);
    requireNamedDestination("BT-PROXY-URL", target.url, parts.policy);
    const definition = ephemeralDefinition(target.url);
    const { tenantId, revision } = caller;
    const audit = invocation(context, undefined, definition);
    return {
      tenantId,
      context: audit,
      caller: { ...caller, context: audit },
      application: undefined,
      proxy: undefined,
      definition,
      revision,
    };
  }
  const proxy = await parts.loader.find(target.key, context);
  const { tenantId } = proxy;
  const { id, requireAuth, applicationId, definition } = proxy.proxy;
  const audit = invocation(context, id, definition);
  if (!requireAuth) {
    const caller = await validCaller(parts, tenantId, apiKey, audit);
    const application = applicationId
      ? await parts.authenticator.application(tenantId, applicationId, audit)
      : undefined;
    return { tenantId, context: audit, caller, application, proxy, definition, revision: proxy.revision };
  }
  const caller = await parts.authenticator.authenticate(apiKey, audit);
  // A key of another tenant learns nothing, not even that the proxy exists.
  if (caller.tenantId !== tenantId) throw new Fault("not_found", "There is no proxy with this key.");
  return { tenantId, context: audit, caller, application: undefined, proxy, definition, revision: proxy.revision };
}

/**
 * The parts of a route are cached separately, and one revision guards them all. Not the lowest of theirs: after a failover
 * the database may have a lower one than a part whose rights were lost, and would confirm them.
 * @throws {StaleAuthorization} unless all parts were read at one revision.
 */
export function requireOneRevision({ caller, application, proxy, revision }: Route): void {
  const isOne = [caller, application, proxy].every((part) => part === undefined || part.revision === revision);
  if (!isOne) throw new StaleAuthorization();
}

/** A proxy that requires no key accepts one. An invalid key counts as absent. */
async function validCaller(
  { authenticator }: RouteParts,
  tenantId: TenantId,
  apiKey: string | undefined,
  context: AuditContext,
): Promise<Caller | undefined> {
  if (apiKey === undefined || parseKey(apiKey)?.tenantId !== tenantId) return undefined;
  try {
    return await authenticator.authenticate(apiKey, context);
  } catch (error) {
    if (error instanceof Fault && error.code === "unauthenticated") return undefined;
    throw error;
  }
}

/** The call in log rows: it goes through the proxy to the host of its destination. */
function invocation(context: AuditContext, proxyId: Uuid | undefined, definition: ProxyDefinition): AuditContext {
  const destinationHost = URL.parse(definition.destinationUrl)?.hostname;
  return { ...context, via: { type: "proxy", id: proxyId }, destinationHost };
}

function ephemeralDefinition(url: string): ProxyDefinition {
  return {
    destinationUrl: url,
    requestReactorId: undefined,
    responseReactorId: undefined,
    requestTransform: undefined,
    responseTransform: undefined,
    requestTransforms: [],
    responseTransforms: [],
    configuration: {},
    disableDetokenization: false,
  };
}

/** Drops the cached parts of a route after one of them changed. */
export function forgetRoute({ authenticator, loader }: RouteParts, { target, apiKey }: ProxyCall, route: Route): void {
  if (target?.kind === "configured") loader.forget(target.key);
  if (apiKey) authenticator.forget(apiKey);
  const applicationId = route.proxy?.proxy.applicationId;
  if (applicationId) authenticator.forgetApplication(route.tenantId, applicationId);
}
