import { isTenantId, type TenantId } from "../base/ids.js";
import { type Sql, soleConnection } from "../store/postgres/connect.js";
import { listRootKeys } from "../store/tenancy/root-keys.js";
import { listTenantKeys } from "../store/tenancy/tenant-keys.js";
import { listTenantIds } from "../store/tenancy/tenants.js";
import { countStale } from "../tenancy/reseal.js";
import type { Vault } from "../vault/vault.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

export async function keysList({ config, options, say, printResult }: CommandInput): Promise<void> {
  const tenant = typeof options.tenant === "string" ? options.tenant.toLowerCase() : options.tenant;
  if (tenant !== undefined && (typeof tenant !== "string" || !isTenantId(tenant)))
    throw new UsageError("--tenant must be the id of a tenant. Run: cloakroom tenants list");
  await using vault = await openForCommand({ config, say });
  await using owner = soleConnection(vault.ownerAddress);
  const roots = (await listRootKeys(owner)).map(({ id, retired_at }) => ({
    root_key: id,
    state: retired_at ? "retired" : "current",
  }));
  const keys: Readonly<Record<string, unknown>>[] = [];
  for (const tenantId of tenant ? [tenant] : await listTenants(owner))
    keys.push(...(await listedKeys(vault, tenantId)));
  if (tenant && keys.length === 0) throw new UsageError("There is no such tenant.");
  printResult([...roots, ...keys]);
}

async function listTenants(owner: Sql): Promise<TenantId[]> {
  const all: TenantId[] = [];
  for (;;) {
    const page = await listTenantIds(owner, all.at(-1));
    if (page.length === 0) return all;
    all.push(...page);
  }
}

async function listedKeys({ database }: Vault, tenantId: TenantId): Promise<Readonly<Record<string, unknown>>[]> {
  const rows = await database.of(tenantId).shared((tx) => tx.query(listTenantKeys, tenantId));
  const versionOf = (purpose: string) =>
    rows.find((row) => row.purpose === purpose && row.state === "current")?.version ?? 0;
  const isRotating = rows.some(({ state }) => state === "retired");
  const left = isRotating
    ? await countStale(database, tenantId, { data: versionOf("data"), cvc: versionOf("cvc") })
    : {};
  const rowsLeft = Object.values(left).reduce((sum, n) => sum + n, 0);
  return rows.map(({ purpose, version, state, root_key_id, created_at }) => ({
    tenant_id: tenantId,
    purpose,
    version,
    state,
    root_key: root_key_id,
    created_at: created_at.toISOString(),
    // For the tenant as a whole: a row may have values of two purposes.
    ...(state === "retired" ? { rows_left: rowsLeft } : {}),
  }));
}
