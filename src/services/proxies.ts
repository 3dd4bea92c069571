import type { MessageInitShape, JsonObject as PlainObject } from "@bufbuild/protobuf";
import {
  type ApplicationReference,
  type CreateProxyRequest,
  ProxyService,
  type ProxyTransform,
  type ProxyTransformSchema,
  type ReplaceProxyRequest,
  type UpdateProxyRequest,
  UpdateProxyRequestSchema,
} from "../../gen/cloakroom/v1/proxies_pb.js";
import type { Caller } from "../access/caller.js";
import { invalid } from "../base/fault.js";
import type { TenantId, Uuid } from "../base/ids.js";
import type { JsonObject } from "../base/json.js";
import type { CompileFor } from "../functions/code.js";
import type { ProxyCall, ProxyResponse } from "../proxy/call.js";
import {
  checkPatch,
  checkProxy,
  type ProxyChecks,
  type ProxyDefinitionPatch,
  type ProxyDraft,
} from "../proxy/prepare-proxy.js";
import { createProxy, deleteProxy, proxies, updateProxy } from "../proxy/proxies.js";
import type { ConfiguredProxy } from "../proxy/proxy.js";
import type { Step, TransformDraft } from "../proxy/transform.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { invokeOverRpc } from "./invoke-proxy.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems, storedUuid } from "./show.js";
import { maySeeProxyKey, shownConfiguration } from "./shown-to-people.js";
import { fieldsToChange } from "./update-mask.js";
import { toJson } from "./value.js";

export interface ProxyServiceParts extends Omit<ProxyChecks, "compile"> {
  readonly compileFor: CompileFor;
  invoke(call: ProxyCall): Promise<ProxyResponse>;
}

export function proxyService(parts: ProxyServiceParts): ServedMethod[] {
  return [...proxyReads(parts), ...proxyChanges(parts)];
}

function proxyReads({ invoke }: ProxyServiceParts): ServedMethod[] {
  const { method } = ProxyService;
  return [
    serve(method.listProxies, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, ids: request.id.map(storedUuid), name: request.name };
      return call.list((tx) => proxies.list(tx, listing), showItems(page, show));
    }),
    serveById(method.getProxy, (tx, id) => proxies.get(tx, id), show),
    serve(method.invokeProxy, (request, call) => invokeOverRpc(invoke, request, call)),
  ];
}

function proxyChanges({ policy, compileFor }: ProxyServiceParts): ServedMethod[] {
  const { method } = ProxyService;
  const checksFor = (tenantId: TenantId): ProxyChecks => ({ policy, compile: compileFor(tenantId) });
  return [
    serve(
      method.createProxy,
      async (request, call) => {
        const definition = await checkProxy(checksFor(call.caller.tenantId), proxyDraft(request));
        return call.transact((tx) => createProxy(tx, proxyProperties(request), definition), showCreated);
      },
      { replay: replayWhole("proxy") },
    ),
    serve(
      method.replaceProxy,
      async (request, call) => {
        const definition = await checkProxy(checksFor(call.caller.tenantId), proxyDraft(request));
        const replaced = { ...proxyProperties(request), definition };
        return call.transact((tx) => updateProxy(tx, storedUuid(request.id), () => replaced), show);
      },
      { replay: replayWhole("proxy") },
    ),
    serve(
      method.updateProxy,
      async (request, call) => {
        const patchDefinition = await checkPatch(checksFor(call.caller.tenantId), proxyPatch(request));
        return call.transact(
          (tx) =>
            updateProxy(tx, storedUuid(request.id), (current) => ({
              ...patchedProperties(request, current),
              definition: patchDefinition(current.definition),
            })),
          showNothing,
        );
      },
      { replay: replayWhole("proxy") },
    ),
    serveById(method.deleteProxy, deleteProxy, showNothing),
  ];
}

function proxyDraft(request: CreateProxyRequest | ReplaceProxyRequest): ProxyDraft {
  return {
    destinationUrl: request.destinationUrl,
    requestReactorId: reactorIdOf(request.requestReactorId),
    responseReactorId: reactorIdOf(request.responseReactorId),
    requestTransform: nonEmptyTransform(request.requestTransform),
    responseTransform: nonEmptyTransform(request.responseTransform),
    requestTransforms: request.requestTransforms.map(transformDraft),
    responseTransforms: request.responseTransforms.map(transformDraft),
    configuration: request.configuration,
    disableDetokenization: request.disableDetokenization ?? false,
  };
}

/** Clients of 2023 send an empty transform and an empty id instead of none. */
export function nonEmptyTransform(transform: ProxyTransform | undefined): TransformDraft | undefined {
  const draft = transform && transformDraft(transform);
  return draft && Object.values(draft).some((given) => given !== undefined) ? draft : undefined;
}

function reactorIdOf(given: string): Uuid | undefined {
  return given === "" ? undefined : storedUuid(given);
}

function proxyProperties({ name, application, requireAuth = true }: CreateProxyRequest | ReplaceProxyRequest) {
  return { name, applicationId: applicationIdOf(application), requireAuth };
}

/** Clears a field that is named in the mask but not set. */
function proxyPatch(request: UpdateProxyRequest): ProxyDefinitionPatch {
  const named = fieldsToChange(UpdateProxyRequestSchema, request.updateMask);
  const { destinationUrl, requestTransform, responseTransform, configuration } = request;
  const { requestReactorId, responseReactorId, disableDetokenization } = request;
  const one = (transform: ProxyTransform | undefined) => (transform ? transformDraft(transform) : null);
  return {
    ...(named.has("request_reactor_id") ? { requestReactorId: reactorIdOf(requestReactorId) ?? null } : {}),
    ...(named.has("response_reactor_id") ? { responseReactorId: reactorIdOf(responseReactorId) ?? null } : {}),
    ...(named.has("disable_detokenization") ? { disableDetokenization: disableDetokenization ?? false } : {}),
    ...(named.has("destination_url") ? { destinationUrl: destinationUrl ?? null } : {}),
    ...(named.has("request_transform") ? { requestTransform: one(requestTransform) } : {}),
    ...(named.has("response_transform") ? { responseTransform: one(responseTransform) } : {}),
    ...(named.has("request_transforms") ? { requestTransforms: request.requestTransforms.map(transformDraft) } : {}),
    ...(named.has("response_transforms") ? { responseTransforms: request.responseTransforms.map(transformDraft) } : {}),
    ...(named.has("configuration")
      ? { configuration: configuration ? toJson(configuration, "configuration") : null }
      : {}),
  };
}

function patchedProperties(request: UpdateProxyRequest, current: ConfiguredProxy) {
  const named = fieldsToChange(UpdateProxyRequestSchema, request.updateMask);
  if (named.has("name") && request.name === undefined) throw invalid("name", "must not be cleared");
  return {
    name: named.has("name") ? (request.name ?? current.name) : current.name,
    applicationId: named.has("application") ? applicationIdOf(request.application) : current.applicationId,
    requireAuth: named.has("require_auth") ? (request.requireAuth ?? true) : current.requireAuth,
  };
}

function applicationIdOf(application: ApplicationReference | undefined): Uuid | undefined {
  return application && storedUuid(application.id);
}

export function transformDraft({
  type,
  code,
  matcher,
  expression,
  replacement,
  options,
}: ProxyTransform): TransformDraft {
  return { type, code, matcher, expression, replacement, options: options && plain(options) };
}

function plain(options: PlainObject): JsonObject {
  return { ...options };
}

/** A proxy as its author gets it, who may act as all that it acts as: its creation has checked that. */
function showCreated(proxy: ConfiguredProxy, caller: Caller) {
  return { ...show(proxy, caller), key: proxy.key.reveal() };
}

/** A proxy's key is not shown only once: every key that may read the proxy sees it, and people by their power. */
function show(proxy: ConfiguredProxy, caller: Caller) {
  const { requestTransform, responseTransform, requestTransforms, responseTransforms } = proxy.definition;
  const { requestReactorId, responseReactorId, disableDetokenization } = proxy.definition;
  return {
    id: proxy.id,
    tenantId: caller.tenantId,
    name: proxy.name,
    ...(maySeeProxyKey(caller, proxy) ? { key: proxy.key.reveal() } : {}),
    destinationUrl: proxy.definition.destinationUrl,
    ...(requestTransform ? { requestTransform: showTransform(requestTransform) } : {}),
    ...(responseTransform ? { responseTransform: showTransform(responseTransform) } : {}),
    requestTransforms: requestTransforms.map(showTransform),
    responseTransforms: responseTransforms.map(showTransform),
    ...(proxy.applicationId ? { applicationId: proxy.applicationId } : {}),
    configuration: shownConfiguration(caller, proxy.definition.configuration),
    requireAuth: proxy.requireAuth,
    ...(requestReactorId ? { requestReactorId } : {}),
    ...(responseReactorId ? { responseReactorId } : {}),
    disableDetokenization,
    state: "active",
    ...showAudit(proxy),
  };
}

/** Shows the transform as it was given, because clients compare, and treat an added or missing field as a change. */
function showTransform(transform: Step): MessageInitShape<typeof ProxyTransformSchema> {
  switch (transform.type) {
    case "code": {
      const { type, code, isTypeGiven, runtime } = transform;
      return { ...(isTypeGiven ? { type } : {}), code, ...(runtime ? { options: { runtime: { ...runtime } } } : {}) };
    }
    case "mask": {
      const { matcher, replacement, type } = transform;
      return {
        type,
        matcher: matcher.kind,
        replacement,
        ...(matcher.kind === "regex" ? { expression: matcher.expression } : {}),
      };
    }
    case "tokenize": {
      const { type, identifier, token } = transform;
      return { type, options: { identifier, token } };
    }
    case "append_json":
    case "append_header": {
      const { type, value, location } = transform;
      return { type, options: { value, location } };
    }
  }
}
