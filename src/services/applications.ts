import type { Value } from "@bufbuild/protobuf/wkt";
import { ApplicationKeyService, ApplicationService } from "../../gen/cloakroom/v1/applications_pb.js";
import { parseRights } from "../access/access-rule.js";
import type { Application, ApplicationKey, WithKey } from "../access/application.js";
import {
  createKey,
  deleteApplication,
  deleteKey,
  getApplication,
  getKey,
  listApplicationKeys,
  listApplications,
  prepareApplication,
  regenerateKey,
  updateApplication,
} from "../access/applications.js";
import { actorOf, applicationOf } from "../access/caller.js";
import { isApplicationType } from "../access/permissions.js";
import { requireGrantable } from "../access/role-rights.js";
import { invalid } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { Keyring } from "../tenancy/keyring.js";
import { ruleDraft, showRule } from "./access-rules.js";
import { type ServedMethod, serve } from "./call.js";
import { replayWhole } from "./replay.js";
import { pageRequest, showAudit, showPage, uuidOf } from "./show.js";
import { toJson } from "./value.js";

export function applicationService(keyring: Keyring): ServedMethod[] {
  return [...applicationReads(keyring), ...applicationChanges(keyring)];
}

function applicationReads(keyring: Keyring): ServedMethod[] {
  const { method } = ApplicationService;
  return [
    serve(method.listApplications, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, ids: request.id.map(uuidOf), types: request.type };
      const keys = await keyring.of(call.caller.tenantId);
      return call.list(
        (tx) => listApplications(tx, keys, actorOf(call.caller), listing),
        (found) => ({
          pagination: showPage(found, page),
          data: found.items.map((item) => show(call.caller.tenantId, item)),
        }),
      );
    }),
    serve(method.getApplication, async ({ id }, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact(
        (tx) => getApplication(tx, keys, actorOf(call.caller), uuidOf(id)),
        (found) => show(call.caller.tenantId, found),
      );
    }),
    serve(method.getApplicationByKey, async (_request, call) => {
      const keys = await keyring.of(call.caller.tenantId);
      return call.transact(
        (tx) => getApplication(tx, keys, actorOf(call.caller), applicationOf(call.caller).id),
        (found) => show(call.caller.tenantId, found),
      );
    }),
  ];
}

function applicationChanges(keyring: Keyring): ServedMethod[] {
  const { method } = ApplicationService;
  return [
    serve(
      method.createApplication,
      async ({ name, type, permissions, rules, allowedOrigins, createKey: withKey = true }, call) => {
        if (!isApplicationType(type)) throw invalid("type", "must be private, public or management");
        const draft = { name, permissions, rules: rules.map(ruleDraft), allowedOrigins };
        requireGrantable(call.caller, type, parseRights(type, permissions, draft.rules));
        const { tenantId } = call.caller;
        const keys = await keyring.of(tenantId);
        return call.transact(prepareApplication(keys, actorOf(call.caller), type, draft, withKey), (created) =>
          showCreated(tenantId, created),
        );
      },
      { replay: replayWhole("application", withoutKey) },
    ),
    serve(
      method.updateApplication,
      async ({ id, name, permissions, rules, allowedOrigins }, call) => {
        const keys = await keyring.of(call.caller.tenantId);
        const origins = originsIn(allowedOrigins);
        const draft = { name, permissions, rules: rules.map(ruleDraft), ...(origins && { allowedOrigins: origins }) };
        return call.transact(
          (tx) => updateApplication(tx, keys, call.caller, uuidOf(id), draft),
          (changed) => show(call.caller.tenantId, changed),
        );
      },
      { replay: replayWhole("application") },
    ),
    serve(
      method.regenerateApplicationKey,
      async ({ id }, call) => {
        const keys = await keyring.of(call.caller.tenantId);
        return call.transact(
          (tx) => regenerateKey(tx, keys, call.caller, uuidOf(id)),
          (regenerated) => showCreated(call.caller.tenantId, regenerated),
        );
      },
      { replay: replayWhole("application", withoutKey) },
    ),
    serve(method.deleteApplication, async ({ id }, call) =>
      call.transact(
        (tx) => deleteApplication(tx, call.caller, uuidOf(id)),
        () => ({}),
      ),
    ),
  ];
}

export function applicationKeyService(keyring: Keyring): ServedMethod[] {
  const { method } = ApplicationKeyService;
  return [
    serve(
      method.createApplicationKey,
      async ({ id }, call) => {
        const keys = await keyring.of(call.caller.tenantId);
        return call.transact(
          (tx) => createKey(tx, keys, call.caller, uuidOf(id)),
          ({ made, key }) => ({ ...showKey(call.caller.tenantId, made), ...(key ? { key: key.reveal() } : {}) }),
        );
      },
      { replay: replayWhole("application_key", withoutKey) },
    ),
    serve(method.listApplicationKeys, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, applicationId: uuidOf(request.id) };
      return call.list(
        (tx) => listApplicationKeys(tx, actorOf(call.caller), listing),
        (found) => ({
          pagination: showPage(found, page),
          data: found.items.map((item) => showKey(call.caller.tenantId, item)),
        }),
      );
    }),
    serve(method.getApplicationKey, async ({ id, keyId }, call) =>
      call.transact(
        (tx) => getKey(tx, actorOf(call.caller), { applicationId: uuidOf(id), id: uuidOf(keyId) }),
        (found) => showKey(call.caller.tenantId, found),
      ),
    ),
    serve(method.deleteApplicationKey, async ({ id, keyId }, call) =>
      call.transact(
        (tx) => deleteKey(tx, call.caller, { applicationId: uuidOf(id), id: uuidOf(keyId) }),
        () => ({}),
      ),
    ),
  ];
}

/** The only responses that show the value of a key are those that create it. */
function showCreated(tenantId: TenantId, { made, key }: WithKey<Application>) {
  return { ...show(tenantId, made), ...(key ? { key: key.reveal() } : {}) };
}

const MAX_ORIGINS = 50;
const MAX_ORIGIN_LENGTH = 300;

/** Undefined keeps the stored origins. @throws {Fault} validation_failed */
function originsIn(value: Value | undefined): readonly string[] | undefined {
  const origins = value && toJson(value, "allowed_origins");
  if (origins === undefined || origins === null) return undefined;
  if (!Array.isArray(origins) || origins.length > MAX_ORIGINS) {
    throw invalid("allowed_origins", `must be a list of at most ${MAX_ORIGINS} origins`);
  }
  return origins.map((origin, index) => {
    if (typeof origin === "string" && origin.length <= MAX_ORIGIN_LENGTH) return origin;
    throw invalid(`allowed_origins[${index}]`, `must be a string of at most ${MAX_ORIGIN_LENGTH} characters`);
  });
}

/** The response without its key, for repeats with another key than the first request's. */
function withoutKey<T extends { readonly key?: string | undefined }>({ key: _, ...response }: T) {
  return response;
}

function show(tenantId: TenantId, application: Application) {
  return {
    id: application.id,
    tenantId,
    name: application.name,
    type: application.type,
    permissions: [...application.permissions],
    rules: application.rules.map(showRule),
    allowedOrigins: [...application.allowedOrigins],
    keys: application.keys.map((key) => showKey(tenantId, key)),
    ...showAudit(application),
  };
}

function showKey(tenantId: TenantId, key: ApplicationKey) {
  return { id: key.id, tenantId, ...showAudit(key) };
}
