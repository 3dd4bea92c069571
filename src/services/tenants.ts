import { TenantService } from "../../gen/cloakroom/v1/tenants_pb.js";
import { showSettings } from "../tenancy/settings.js";
import { changeTenant, getTenant, type Tenant } from "../tenancy/tenant.js";
import { type ServedMethod, serve } from "./call.js";
import { showAudit } from "./show.js";

export function tenantService(): ServedMethod[] {
  const { method } = TenantService;
  return [
    serve(method.getTenant, async (_request, call) => call.transact((tx) => getTenant(tx, call.caller), show)),
    serve(method.updateTenant, async ({ name, settings }, call) =>
      call.transact((tx) => changeTenant(tx, call.caller, name, settings), show),
    ),
  ];
}

function show({ row, settings }: Tenant) {
  return {
    id: row.tenant_id,
    ownerId: row.owner_id,
    name: row.name,
    settings: showSettings(settings),
    ...showAudit({
      createdBy: row.created_by,
      createdAt: row.created_at,
      modifiedBy: row.modified_by,
      modifiedAt: row.modified_at,
    }),
  };
}
