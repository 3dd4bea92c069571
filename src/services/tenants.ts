import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { TenantService } from "../../gen/cloakroom/v1/tenants_pb.js";
import { readAuthorship } from "../access/authorship.js";
import type { Caller } from "../access/caller.js";
import { VAULT_TENANT_ID } from "../base/ids.js";
import { deleteTenant } from "../tenancy/delete-tenant.js";
import type { Keyring } from "../tenancy/keyring.js";
import { showSettings } from "../tenancy/settings.js";
import { getTenant, type Tenant, updateTenant } from "../tenancy/tenant.js";
import { readUsage, type Usage } from "../tenancy/usage.js";
import { type ServedMethod, serve } from "./call.js";
import { replayWhole } from "./replay.js";
import { showAudit } from "./show.js";

export interface TenantServiceParts {
  readonly keyring: Keyring;
  /** Called after a tenant was deleted, because its own log is deleted with it. */
  readonly onRemoved: (caller: Caller) => Promise<void>;
}

export function tenantService({ keyring, onRemoved }: TenantServiceParts): ServedMethod[] {
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
  ];
}

function showUsage({ byType, monthlyActive, included }: Usage) {
  const metrics = byType.map(({ type, n, last_created_at }) => [
    type,
    { count: BigInt(n), ...(last_created_at ? { lastCreatedAt: timestampFromDate(last_created_at) } : {}) },
  ]);
  return {
    tokenReport: {
      metricsByType: Object.fromEntries(metrics),
      includedMonthlyActiveTokens: BigInt(included ?? 0),
      monthlyActiveTokens: BigInt(monthlyActive),
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
