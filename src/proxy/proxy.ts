import { type Authorship, readAuthorship } from "../access/authorship.js";
import { isUuid, type Uuid } from "../base/ids.js";
import { type Json, type JsonObject, textsIn } from "../base/json.js";
import { openName, sealName } from "../crypto/sealed-name.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { ProxyColumns, ProxyRow } from "../store/functions/proxies.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import { parseTransform, readTransform, type Step, writeTransform } from "./transform.js";

/** How a proxy handles requests. Stored sealed. */
export interface ProxyDefinition {
  /** As given by the caller. */
  readonly destinationUrl: string;
  /** The older form of transforms: a reactor for requests and one for responses. */
  readonly requestReactorId: Uuid | undefined;
  readonly responseReactorId: Uuid | undefined;
  /** The published interface has one transform per direction, newer clients a list: each is shown as given. */
  readonly requestTransform: Step | undefined;
  readonly responseTransform: Step | undefined;
  readonly requestTransforms: readonly Step[];
  readonly responseTransforms: readonly Step[];
  readonly configuration: Readonly<Record<string, string>>;
  /** Leaves references in requests unchanged. */
  readonly disableDetokenization: boolean;
}

export interface ReactorStep {
  readonly type: "reactor";
  readonly reactorId: Uuid;
}

export type ProxyStep = Step | ReactorStep;

export interface ConfiguredProxy extends Authorship {
  readonly id: Uuid;
  readonly name: string;
  /** Sent in BT-PROXY-KEY. Every response shows it. */
  readonly key: Sensitive<string>;
  readonly definition: ProxyDefinition;
  /** The application that transforms act as, and anonymous calls detokenize as. */
  readonly applicationId: Uuid | undefined;
  readonly requireAuth: boolean;
  readonly revision: number;
}

export type NewProxy = Pick<
  ConfiguredProxy,
  "id" | "name" | "key" | "definition" | "applicationId" | "requireAuth" | "createdBy"
>;

/** All steps of a direction in order of execution: the oldest form first. */
export function requestSteps({ requestReactorId, requestTransform, requestTransforms }: ProxyDefinition): ProxyStep[] {
  return orderedSteps(requestReactorId, requestTransform, requestTransforms);
}

export function responseSteps(definition: ProxyDefinition): ProxyStep[] {
  return orderedSteps(definition.responseReactorId, definition.responseTransform, definition.responseTransforms);
}

function orderedSteps(reactorId: Uuid | undefined, single: Step | undefined, list: readonly Step[]): ProxyStep[] {
  return [...(reactorId ? [{ type: "reactor", reactorId } as const] : []), ...(single ? [single] : []), ...list];
}

/**
 * The address that a configured proxy calls, without trailing slashes because paths are appended. A query keeps them.
 */
export function baseUrl({ destinationUrl }: ProxyDefinition): string {
  return destinationUrl.includes("?") ? destinationUrl : destinationUrl.replace(/\/+$/, "");
}

/** The columns of a proxy that a caller chooses. */
export function proxyColumns(
  keys: TenantKeys,
  { id, name, applicationId, requireAuth, createdBy, ...sealed }: NewProxy,
): ProxyColumns {
  const plain = { application_id: applicationId ?? null, require_auth: requireAuth };
  const definition = proxyRecord.seal(keys, { id, ...plain, created_by: createdBy }, sealed);
  return { id, ...plain, definition, name: sealName(keys, id, name) };
}

export const proxyRecord = sealedRecord({
  field: "proxy",
  bound: AAD_COLUMNS.proxies,
  write: writeSealed,
  read: (stored) => ({ key: new Sensitive(String(stored.key)), definition: definitionOf(stored) }),
});

function writeSealed({ key, definition }: Pick<ConfiguredProxy, "key" | "definition">): JsonObject {
  const { destinationUrl, requestTransform, responseTransform, requestTransforms, responseTransforms } = definition;
  const { requestReactorId, responseReactorId, disableDetokenization } = definition;
  return {
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
}

export function openProxy(keys: TenantKeys, row: ProxyRow): ConfiguredProxy {
  return {
    id: row.id,
    name: openName(keys, row.id, row.name),
    ...proxyRecord.open(keys, row, row.definition),
    applicationId: row.application_id ?? undefined,
    requireAuth: row.require_auth,
    revision: row.revision,
    ...readAuthorship(row),
  };
}

function definitionOf(written: JsonObject): ProxyDefinition {
  const one = (stored: Json | undefined, isResponse: boolean) =>
    stored === undefined ? undefined : parseTransform(readTransform(stored), "transform", isResponse);
  const many = (stored: Json | undefined, isResponse: boolean) =>
    Array.isArray(stored) ? stored.map((item) => parseTransform(readTransform(item), "transform", isResponse)) : [];
  return {
    destinationUrl: String(written.destination_url),
    requestReactorId: reactorIdOf(written.request_reactor_id),
    responseReactorId: reactorIdOf(written.response_reactor_id),
    requestTransform: one(written.request_transform, false),
    responseTransform: one(written.response_transform, true),
    requestTransforms: many(written.request_transforms, false),
    responseTransforms: many(written.response_transforms, true),
    configuration: textsIn(written.configuration),
    disableDetokenization: written.disable_detokenization === true,
  };
}

function reactorIdOf(stored: Json | undefined): Uuid | undefined {
  return typeof stored === "string" && isUuid(stored) ? stored : undefined;
}
