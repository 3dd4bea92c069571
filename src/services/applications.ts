import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ApplicationKeyService, ApplicationService } from "../../gen/cloakroom/v1/applications_pb.js";
import { parseRights } from "../access/access-rule.js";
import type { Application, ApplicationDraft, ApplicationKey, WithKey } from "../access/application.js";
import { createKey, deleteKey, getKey, listApplicationKeys, regenerateKey } from "../access/application-keys.js";
import {
  deleteApplication,
  getApplication,
  holdApplication,
  listApplications,
  prepareApplication,
  updateApplication,
} from "../access/applications.js";
import { type Caller, callingApplication } from "../access/caller.js";
import type { OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { Grant } from "../access/grant.js";
import { isApplicationType } from "../access/permissions.js";
import { heldPowers } from "../access/power.js";
import { requireGrantable } from "../access/role-rights.js";
import type { Clock } from "../base/clock.js";
import { invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { parseIsoTime } from "../base/iso-time.js";
import { requireNoCodeEnds } from "../proxy/ended-uses.js";
import { requireNobodyGains } from "../proxy/gained-power.js";
import { ruleDraft, showRule } from "./access-rules.js";
import { readChangedPages, readNewPages, showPages } from "./application-pages.js";
import { type ServedMethod, serve, showNothing } from "./call.js";
import { replayWhole } from "./replay.js";
import { serveById } from "./serve-by-id.js";
import { pageRequest, showAudit, showItems, storedUuid } from "./show.js";

export function applicationService(): ServedMethod[] {
  return [...applicationReads(), ...applicationChanges()];
}

function applicationReads(): ServedMethod[] {
  const { method } = ApplicationService;
  return [
    serve(method.listApplications, async (request, call) => {
      const page = pageRequest(request);
      const { name, sort } = request;
      const listing = {
        ...page,
        ids: request.id.map(storedUuid),
        types: request.type,
        name,
        isByName: sort === "name",
      };
      return call.list((tx) => listApplications(tx, listing), showItems(page, show));
    }),
    serveById(method.getApplication, getApplication, show),
    serve(method.getApplicationByKey, async (_request, call) =>
      call.transact((tx) => getApplication(tx, callingApplication(call.caller).id), show),
    ),
  ];
}

function applicationChanges(): ServedMethod[] {
  const { method } = ApplicationService;
  return [
    serve(
      method.createApplication,
      async (request, call) => {
        const { name, type, permissions, rules, createKey: withKey = true } = request;
        if (!isApplicationType(type)) throw invalid("type", "must be private, public or management");
        const draft = { name, permissions, rules: rules.map(ruleDraft), ...readNewPages(request) };
        requireGrantable(call.caller, type, parseRights(type, permissions, draft.rules));
        const makeApplication = prepareApplication(type, draft, withKey);
        return call.transact((tx) => makeApplication(tx, tx.caller), showCreated);
      },
      { replay: replayWhole("application", withoutKey) },
    ),
    serve(
      method.updateApplication,
      async (request, call) => {
        const { id, name, permissions, rules } = request;
        const draft = { name, permissions, rules: rules.map(ruleDraft), ...readChangedPages(request) };
        return call.transact((tx) => changeApplication(tx, storedUuid(id), draft), show);
      },
      { replay: replayWhole("application") },
    ),
    serveById(method.regenerateApplicationKey, regenerateKey, showCreated, {
      replay: replayWhole("application", withoutKey),
    }),
    serveById(method.deleteApplication, endApplication, showNothing),
  ];
}

export function applicationKeyService(clock: Clock): ServedMethod[] {
  const { method } = ApplicationKeyService;
  return [
    serve(
      method.createApplicationKey,
      async ({ id, name, owner, expiresAt: expiry }, call) => {
        const expiresAt = expiry === undefined ? undefined : parseKeyExpiry(expiry, new Date(clock.now()));
        return call.transact(
          (tx) => createKey(tx, storedUuid(id), { name, owner, expiresAt }),
          ({ made, key }, caller) => ({ ...showKey(made, caller), ...(key ? { key: key.reveal() } : {}) }),
        );
      },
      { replay: replayWhole("application_key", withoutKey) },
    ),
    serve(method.listApplicationKeys, async (request, call) => {
      const page = pageRequest(request);
      const listing = { ...page, applicationId: storedUuid(request.id) };
      return call.list((tx) => listApplicationKeys(tx, listing), showItems(page, showKey));
    }),
    serve(method.getApplicationKey, async ({ id, keyId }, call) =>
      call.transact((tx) => getKey(tx, { applicationId: storedUuid(id), id: storedUuid(keyId) }), showKey),
    ),
    serve(method.deleteApplicationKey, async ({ id, keyId }, call) =>
      call.transact((tx) => deleteKey(tx, { applicationId: storedUuid(id), id: storedUuid(keyId) }), showNothing),
    ),
  ];
}

/** The only responses that show the value of a key are those that create it. */
function showCreated({ made, key }: WithKey<Application>, caller: Caller) {
  return { ...show(made, caller), ...(key ? { key: key.reveal() } : {}) };
}

/** The response without its key, for repeats with another key than the first request's. */
function withoutKey<T extends { readonly key?: string | undefined }>({ key: _, ...response }: T) {
  return response;
}

function show(application: Application, caller: Caller) {
  return {
    id: application.id,
    tenantId: caller.tenantId,
    name: application.name,
    type: application.type,
    permissions: [...application.permissions],
    rules: application.rules.map(showRule),
    ...showPages(application),
    keys: application.keys.map((key) => showKey(key, caller)),
    ...showAudit(application),
  };
}

function showKey(key: ApplicationKey, caller: Caller) {
  const { id, name, owner, expiresAt, lastUsedAt } = key;
  return {
    id,
    tenantId: caller.tenantId,
    ...showAudit(key),
    ...(name === undefined ? {} : { name }),
    ...(owner === undefined ? {} : { owner }),
    ...(expiresAt ? { expiresAt: timestampFromDate(expiresAt) } : {}),
    ...(lastUsedAt && readsLog(caller) ? { lastUsedAt: timestampFromDate(lastUsedAt) } : {}),
  };
}

/** Whether the caller may read the log, which the last use of a key is taken from. */
function readsLog(caller: Caller): boolean {
  return caller.principal.kind === "person" ? heldPowers(caller).has("read") : caller.grant.holds("log:read");
}

/** @throws {Fault} validation_failed naming expires_at. */
function parseKeyExpiry(text: string, now: Date): Date {
  const at = parseIsoTime(text);
  if (!at || at <= now) throw invalid("expires_at", "must be an ISO 8601 date or date-time in the future");
  return at;
}

/** Changes an application. No code that acts as it may get more rights than its author may give. */
async function changeApplication(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  draft: ApplicationDraft,
): Promise<Application> {
  const former = await holdApplication(tx, id);
  const changed = await updateApplication(tx, id, draft);
  const { type, permissions, rules } = changed;
  const rights = { permissions, rules };
  if (new Grant(former).exceededBy(rights)) {
    await requireNobodyGains(tx, { applicationId: id, type, rights });
  }
  if (new Grant(rights).exceededBy(former)) await requireNoCodeEnds(tx, id, "take rights from");
  return changed;
}

async function endApplication(tx: OrdinaryCallerTransaction, id: Uuid): Promise<void> {
  // No other request makes a key for it, or gives it rights, between the checks and the deletion.
  await holdApplication(tx, id);
  await deleteApplication(tx, id);
  await requireNoCodeEnds(tx, id, "delete");
}
