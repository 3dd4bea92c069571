import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startEmbeddedDatabase } from "../../../src/store/embedded/embedded-database.js";
import { connect, type Sql } from "../../../src/store/postgres/connect.js";
import { cloakroom } from "../../support/command.js";
import { movableClock } from "../../support/database-clock.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A clock that can be moved, for a database that does not run. */
async function withMovableClock(dataDir: string): Promise<void> {
  await using database = await startEmbeddedDatabase({ dataDir, announce: () => {} });
  const owner = connect(database.connection, { connections: 1, statementTimeout: 10_000 });
  await movableClock(owner);
  await owner.end({ timeout: 5 });
}

describe("a machine whose clock ran an hour fast and was corrected", () => {
  let ahead = 0;
  let server: ServerHere;
  let sql: Sql;
  const tenants: TestTenant[] = [];
  /** The clocks of the server and the database. */
  const setAhead = async (milliseconds: number) => {
    ahead = milliseconds;
    await sql`update test_clock set milliseconds = ${milliseconds}`;
  };
  const tenant = (index: number) => {
    const found = tenants[index];
    if (!found) throw new Error("there is no such tenant");
    return found;
  };
  const sealedUntil = async ({ id }: TestTenant) => {
    const [row] = await sql<
      { at: Date | null }[]
    >`select audit_closed_until as at from tenants where tenant_id = ${id}`;
    return row?.at?.getTime() ?? 0;
  };
  const metric = async (trouble: string) => {
    const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
    return Number(new RegExp(`^cloakroom_audit_incidents_total\\{reason="${trouble}"\\} (\\d+)$`, "m").exec(text)?.[1]);
  };
  beforeAll(async () => {
    server = await startServerHere(
      { LOG_LEVEL: "error" },
      { clock: { now: () => Date.now() + ahead }, prepare: withMovableClock },
    );
    sql = connect(server.vault.ownerAddress, { connections: 2, statementTimeout: 20_000 });
    for (let index = 0; index < 3; index += 1) tenants.push(await newTenant(server.url, server.environment));
    await setAhead(HOUR);
    const clients = await Promise.all(tenants.map((each) => each.backEnd()));
    for (const client of clients) {
      expect((await client("POST", "/tokens", { body: { type: "token", data: "early" } })).status).toBe(201);
    }
    await setAhead(HOUR + 3 * MINUTE);
    await vi.waitFor(
      async () => {
        for (const each of tenants) expect(await sealedUntil(each)).toBeGreaterThan(Date.now() + HOUR - MINUTE);
      },
      { interval: 200 },
    );
    await setAhead(0);
  });
  afterAll(async () => {
    await sql?.end({ timeout: 5 });
    await server?.[Symbol.asyncDispose]();
  });

  it("is reported by doctor, with what to do", async () => {
    const { code, stdout } = await cloakroom(server.environment, "doctor", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      healthy: false,
      problem: expect.stringMatching(/the logs of 3 tenants .* cloakroom audit reopen/),
    });
  });

  it("serves the first request of a tenant, and all concurrent ones", async () => {
    const { manage } = tenant(0);
    const responses = await Promise.all(Array.from({ length: 24 }, () => manage("GET", "/tenants/self")));
    expect(responses.map(({ status }) => status)).toEqual(Array(24).fill(200));
    expect(await sealedUntil(tenant(0))).toBeLessThanOrEqual(Date.now());
    expect(await metric("set_back")).toBe(1);
    expect(await metric("behind")).toBe(0);
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
  });

  it("deduplicates tokens of the same content, whichever request meets the log first", async () => {
    const backEnd = await tenant(1).backEnd();
    for (let round = 0; round < 3; round += 1) {
      await setAhead(HOUR + (5 + round) * MINUTE);
      await sql`
        update tenants set audit_closed_until = date_trunc('minute', now()) where tenant_id = ${tenant(1).id}`;
      await setAhead(0);
      const body = { type: "token", data: `same ${round}`, deduplicate_token: true };
      const responses = await Promise.all(Array.from({ length: 24 }, () => backEnd("POST", "/tokens", { body })));
      expect(responses.map(({ status }) => status)).toEqual(Array(24).fill(201));
      expect(new Set(responses.map(({ body: { id } }) => id)).size).toBe(1);
    }
  });

  it("can be repaired by command as well", async () => {
    const { id } = tenant(2);
    const { code, stdout } = await cloakroom(server.environment, "audit", "reopen", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ tenant_id: id, reopened: true }]);
    expect(await sealedUntil(tenant(2))).toBeLessThanOrEqual(Date.now());
    expect(JSON.parse((await cloakroom(server.environment, "audit", "reopen", "--json")).stdout)).toEqual([]);
    expect(JSON.parse((await cloakroom(server.environment, "doctor", "--json")).stdout)).toMatchObject({
      healthy: true,
    });
    expect((await tenant(2).manage("GET", "/tenants/self")).status).toBe(200);
  });

  it("has logs that verify, and report when they were set back", async () => {
    const { code, stdout } = await cloakroom(server.environment, "audit", "verify", "--json");
    expect(JSON.parse(stdout).flatMap(({ findings }: { findings: unknown[] }) => findings)).toEqual([]);
    expect(code).toBe(0);
    const shown = JSON.parse(stdout).filter(({ clock_set_back }: { clock_set_back?: unknown[] }) => clock_set_back);
    expect(shown.map(({ tenant_id }: { tenant_id: string }) => tenant_id).sort()).toEqual(
      tenants.map(({ id }) => id).sort(),
    );
  });

  it("rejects writes and says why while only this server's clock is slow, and recovers once it is right", async () => {
    const { manage } = tenant(0);
    expect((await manage("GET", "/tenants/self")).status).toBe(200);
    await vi.waitFor(async () => expect(await sealedUntil(tenant(0))).toBeGreaterThan(Date.now() - 5 * MINUTE));
    ahead = -10 * MINUTE;
    const refused = await manage("GET", "/tenants/self");
    expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect(await metric("behind")).toBeGreaterThan(0);
    const ready = await fetch(`${server.adminUrl}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ checks: { clock: expect.stringContaining("behind the database's") } });
    ahead = 0;
    expect((await manage("GET", "/tenants/self")).status).toBe(200);
  });
});
