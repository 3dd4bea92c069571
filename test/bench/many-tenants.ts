import { systemClock } from "../../src/base/clock.js";
import { readConfig } from "../../src/settings/config.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { openVault } from "../../src/vault/vault.js";
import type { BenchServer } from "./bench-server.js";
import type { Plan } from "./measure.js";
import { say, type Table } from "./table.js";
import { createCard, getToken, makeApplication, post } from "./token-requests.js";

export const TENANTS = 1_000;
const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };

/** The same requests spread over a thousand tenants, each with its own application and card. */
export async function manyTenantRows(table: Table, server: BenchServer): Promise<void> {
  for (const plan of await tenantPlans(server, TENANTS)) {
    await table.measure(server, { ...plan, operation: `${plan.operation}, ${TENANTS} tenants` });
  }
}

type TenantServer = Pick<BenchServer, "host" | "port" | "environment">;

/** Creates and reads by 32 callers, each request for another of this many tenants. */
export async function tenantPlans(server: TenantServer, count: number): Promise<readonly Plan[]> {
  const tenants = await makeTenants(server, count);
  const tenantOf = (n: number) => tenants[(n * 7919) % tenants.length] ?? { key: "", id: "" };
  const rest = { protocol: "http1", connections: 32 } as const;
  return [
    { ...rest, operation: "POST /tokens (card)", expect: 201, request: (n) => createCard(tenantOf(n).key) },
    {
      ...rest,
      operation: "GET /tokens/{id}, reveal",
      expect: 200,
      request: (n) => getToken(tenantOf(n).key, tenantOf(n).id),
    },
  ];
}

async function makeTenants(
  server: TenantServer,
  count: number,
): Promise<{ readonly key: string; readonly id: string }[]> {
  const config = readConfig(server.environment);
  await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  const tenants: { key: string; id: string }[] = [];
  for (let made = 0; made < count; made += 20) {
    const batch = Array.from({ length: Math.min(20, count - made) }, async (_, n) => {
      const owner = { name: `Tenant ${made + n}`, ownerEmail: "owner@example.com" };
      const { managementKey } = await provisionTenant(vault, owner);
      const key = await makeApplication(server, managementKey.reveal());
      const { id } = await post(server, "/tokens", key, { type: "card", data: CARD });
      return { key, id };
    });
    tenants.push(...(await Promise.all(batch)));
    if ((made + 20) % 200 === 0) say(`  made ${made + 20} of ${count} tenants`);
  }
  return tenants;
}
