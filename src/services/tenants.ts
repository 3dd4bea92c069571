import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { TenantService } from "../../gen/cloakroom/v1/tenants_pb.js";
import { readAuthorship } from "../access/authorship.js";
import type { Caller } from "../access/caller.js";
import { recordLogRead } from "../access/record-log-read.js";
import { type Activity, type ActivityCounts, prepareActivity } from "../audit/follow/activity.js";
import type { Clock } from "../base/clock.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { deleteTenant } from "../tenancy/delete-tenant.js";
import { type Health, readTenantHealth } from "../tenancy/health.js";
import type { Keyring } from "../tenancy/keyring.js";
import { showSettings } from "../tenancy/settings.js";
import { getTenant, type Tenant, updateTenant } from "../tenancy/tenant.js";
import { readUsage, type Usage } from "../tenancy/usage.js";
import { type ServedMethod, serve } from "./call.js";
import { replayWhole } from "./replay.js";
import { showAudit } from "./show.js";

export interface TenantServiceParts {
  readonly clock: Clock;
  readonly keyring: Keyring;
  /** Called after a tenant was deleted, because its own log is deleted with it. */
  readonly onRemoved: (caller: Caller) => Promise<void>;
}

export function tenantService({ clock, keyring, onRemoved }: TenantServiceParts): ServedMethod[] {
  const { method } = TenantService;
  return [
    serve(method.getTenant, async (_request, call) => call.transact((tx) => getTenant(tx), show)),
    serve(
      method.updateTenant,
      async ({ name, settings }, call) => call.transact((tx) => updateTenant(tx, name, settings), show),
      { replay: replayWhole("tenant") },
    ),
    serve(method.deleteTenant, async (_request, call) => {
      const vaultKeys = await keyring.of(VAULT_TENANT_ID);
      await call.commit((tx) => deleteTenant(tx, vaultKeys));
      keyring.forget(call.caller.tenantId);
      await onRemoved(call.caller);
      return {};
    }),
    serve(method.getUsageReport, async (_request, call) => call.transact((tx) => readUsage(tx), showUsage)),
    serve(method.getActivity, async (request, call) => {
      const read = prepareActivity(request, new Date(clock.now()));
      return call.list(async (tx) => {
        recordLogRead(tx);
        return read(tx);
      }, showActivity);
    }),
    serve(method.getHealth, async (_request, call) => call.transact((tx) => readTenantHealth(tx), showHealth)),
  ];
}

function showActivity({ buckets, groups, countedUntil }: Activity) {
  return {
    data: buckets.map(({ at, counts }) => ({ at: timestampFromDate(at), counts: showCounts(counts) })),
    groups: groups.map(({ name, actorId, counts }) => ({
      name,
      ...(actorId === undefined ? {} : { actorId }),
      counts: showCounts(counts),
    })),
    ...(countedUntil ? { countedUntil: timestampFromDate(countedUntil) } : {}),
  };
}

function showCounts({ revealed, masked, redacted, other, denied, failed, changes }: ActivityCounts) {
  return {
    revealed: BigInt(revealed),
    masked: BigInt(masked),
    redacted: BigInt(redacted),
    other: BigInt(other),
    denied: BigInt(denied),
    failed: BigInt(failed),
    changes: BigInt(changes),
  };
}

function showHealth({ sealedUntil, outages, receivers, keysCreatedAt, applicationKeys }: Health) {
  return {
    ...(sealedUntil ? { sealedUntil: timestampFromDate(sealedUntil) } : {}),
    outages: outages.map(({ part, since }) => ({ part, since: timestampFromDate(since) })),
    receivers: receivers.map(({ name, sentUntil }) => ({ name, sentUntil: timestampFromDate(sentUntil) })),
    ...(keysCreatedAt ? { keysCreatedAt: timestampFromDate(keysCreatedAt) } : {}),
    applicationKeys: BigInt(applicationKeys.all),
    oldApplicationKeys: BigInt(applicationKeys.old),
  };
}

function showUsage({ byType, byMonth, monthlyActive, included }: Usage) {
  const metrics = byType.map(({ type, n, last_created_at }) => [
    type,
    { count: BigInt(n), ...(last_created_at ? { lastCreatedAt: timestampFromDate(last_created_at) } : {}) },
  ]);
  return {
    tokenReport: {
      metricsByType: Object.fromEntries(metrics),
      includedMonthlyActiveTokens: BigInt(included ?? 0),
      monthlyActiveTokens: BigInt(monthlyActive),
      activeByMonth: byMonth.map(({ month, n }) => ({ month, count: BigInt(n) })),
    },
  };
}

function show({ row, settings }: Tenant) {
  return {
    id: row.tenant_id,
    ownerId: row.owner_id,
    name: row.name,
    settings: showSettings(settings),
    ...showAudit(readAuthorship(row)),
  };
}
