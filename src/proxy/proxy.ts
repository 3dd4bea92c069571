import { isUuid, type TenantId, type Uuid } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import { open, seal } from "../crypto/sealed.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { ProxyRow } from "../store/proxies.js";
import { parseTransform, readTransform, type Transform, writeTransform } from "./transform.js";

/** What a proxy does with requests. Sealed where it is stored. */
export interface ProxyDefinition {
  /** As it was given. */
  readonly destinationUrl: string;
  /** The older form of transforms: reactors that requests and answers pass first. */
  readonly requestReactorId: Uuid | undefined;
  readonly responseReactorId: Uuid | undefined;
  /** The published interface has one transform a direction, and newer clients a list: each is shown as it was given. */
  readonly requestTransform: Transform | undefined;
  readonly responseTransform: Transform | undefined;
  readonly requestTransforms: readonly Transform[];
  readonly responseTransforms: readonly Transform[];
  readonly configuration: Readonly<Record<string, string>>;
  /** Token expressions in requests are left as they are. */
  readonly disableDetokenization: boolean;
}

/** A reactor that runs as a transform. */
export interface ReactorStep {
  readonly type: "reactor";
  readonly reactorId: Uuid;
}

export type ProxyStep = Transform | ReactorStep;

/** A pre-configured proxy. */
export interface ConfiguredProxy {
  readonly id: Uuid;
  readonly name: string;
  /** Goes into BT-PROXY-KEY. It is shown in every answer. */
  readonly key: Sensitive<string>;
  readonly definition: ProxyDefinition;
  /** The application that transforms act as, and anonymous calls detokenize as. */
  readonly applicationId: Uuid | undefined;
  readonly requireAuth: boolean;
  readonly revision: number;
  readonly createdBy: Uuid | null;
  readonly createdAt: Date;
  readonly modifiedBy: Uuid | null;
  readonly modifiedAt: Date | null;
}

/** All steps of a direction, in the order in which they run: the oldest form first. */
export function requestSteps({ requestReactorId, requestTransform, requestTransforms }: ProxyDefinition): ProxyStep[] {
  return stepsOf(requestReactorId, requestTransform, requestTransforms);
}

export function responseSteps(definition: ProxyDefinition): ProxyStep[] {
  return stepsOf(definition.responseReactorId, definition.responseTransform, definition.responseTransforms);
}

function stepsOf(reactorId: Uuid | undefined, single: Transform | undefined, list: readonly Transform[]): ProxyStep[] {
  return [...(reactorId ? [{ type: "reactor", reactorId } as const] : []), ...(single ? [single] : []), ...list];
}

/** The address that a configured proxy calls: paths are put behind it, so that it ends without slashes. A query keeps them. */
export function baseUrl({ destinationUrl }: ProxyDefinition): string {
  return destinationUrl.includes("?") ? destinationUrl : destinationUrl.replace(/\/+$/, "");
}

export function sealProxy(
  keys: TenantKeys,
  tenantId: TenantId,
  id: Uuid,
  key: Sensitive<string>,
  definition: ProxyDefinition,
): Buffer {
  const { destinationUrl, requestTransform, responseTransform, requestTransforms, responseTransforms } = definition;
  const { requestReactorId, responseReactorId, disableDetokenization } = definition;
  const written: JsonObject = {
    key: key.reveal(),
    destination_url: destinationUrl,
    ...(requestTransform ? { request_transform: writeTransform(requestTransform) } : {}),
    ...(responseTransform ? { response_transform: writeTransform(responseTransform) } : {}),
    request_transforms: requestTransforms.map(writeTransform),
    response_transforms: responseTransforms.map(writeTransform),
    configuration: { ...definition.configuration },
    ...(requestReactorId ? { request_reactor_id: requestReactorId } : {}),
    ...(responseReactorId ? { response_reactor_id: responseReactorId } : {}),
    ...(disableDetokenization ? { disable_detokenization: true } : {}),
  };
  return seal(keys.data, { tenantId, entity: id, field: "proxy" }, Buffer.from(JSON.stringify(written)));
}

export function openProxy(keys: TenantKeys, tenantId: TenantId, row: ProxyRow): ConfiguredProxy {
  const sealedPlace = { tenantId, entity: row.id, field: "proxy" };
  const written: Json = JSON.parse(open(keys.data, sealedPlace, row.definition).toString());
  if (!isJsonObject(written)) throw new Error("the definition of a proxy is no object");
  return {
    id: row.id,
    name: row.name,
    key: new Sensitive(String(written.key)),
    definition: definitionOf(written),
    applicationId: row.application_id ?? undefined,
    requireAuth: row.require_auth,
    revision: row.revision,
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by,
    modifiedAt: row.modified_at,
  };
}

function definitionOf(written: JsonObject): ProxyDefinition {
  const one = (stored: Json | undefined, isResponse: boolean) =>
    stored === undefined ? undefined : parseTransform(readTransform(stored), "transform", isResponse);
  const many = (stored: Json | undefined, isResponse: boolean) =>
    Array.isArray(stored) ? stored.map((item) => parseTransform(readTransform(item), "transform", isResponse)) : [];
  const configuration = isJsonObject(written.configuration) ? written.configuration : {};
  return {
    destinationUrl: String(written.destination_url),
    requestReactorId: reactorIdOf(written.request_reactor_id),
    responseReactorId: reactorIdOf(written.response_reactor_id),
    requestTransform: one(written.request_transform, false),
    responseTransform: one(written.response_transform, true),
    requestTransforms: many(written.request_transforms, false),
    responseTransforms: many(written.response_transforms, true),
    configuration: Object.fromEntries(Object.entries(configuration).map(([name, value]) => [name, String(value)])),
    disableDetokenization: written.disable_detokenization === true,
  };
}

function reactorIdOf(stored: Json | undefined): Uuid | undefined {
  return typeof stored === "string" && isUuid(stored) ? stored : undefined;
}
