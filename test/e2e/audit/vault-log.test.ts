import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { isTenantId } from "../../../src/base/ids.js";
import { readConfig } from "../../../src/settings/config.js";
import { listLogRows } from "../../../src/store/audit/log-listing.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { openVault, type Vault } from "../../../src/vault/vault.js";
import { cloakroom } from "../../support/command.js";
import { copyMigratedData } from "../../support/migrated-data.js";
import { newDirectory } from "../../support/new-directory.js";
import { startReplica } from "../../support/replica.js";

interface Operations {
  readonly rows: readonly {
    readonly entity_type: string;
    readonly entity_id: string;
    readonly operation: string;
    readonly message: string;
    readonly client?: string;
  }[];
  readonly complete: boolean;
  readonly chain: string;
}

describe("the vault's own log", () => {
  const directory = newDirectory();
  const environment = { CLOAKROOM_DATA_DIR: copyMigratedData(join(directory, "data")) };
  /** Keeps PostgreSQL running between commands, which otherwise start and stop it: 0.2 s of processor time each. */
  let open: Vault | undefined;
  let tenantId = "";
  const vaultRows = "tenant_id = '00000000-0000-7000-8000-000000000000'";
  const createTenant = async (): Promise<{ readonly tenant_id: string; readonly key: string }> => {
    const owner = ["--name", "Test", "--owner-email", "owner@example.com"];
    return JSON.parse((await cloakroom(environment, "tenants", "create", ...owner, "--json")).stdout);
  };
  const operations = async (...args: string[]): Promise<Operations> => {
    const { code, stdout, stderr } = await cloakroom(environment, "audit", "operations", "--json", ...args);
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };
  const verify = async () => {
    const { code, stdout } = await cloakroom(environment, "audit", "verify", "--json");
    const shown: { findings: { kind: string; detail: string }[] }[] = JSON.parse(stdout);
    return { code, details: shown.flatMap(({ findings }) => findings.map(({ detail }) => detail)) };
  };
  const openedVault = (): Promise<Vault> =>
    openVault({ config: readConfig(environment), as: "command", announce: () => {}, clock: systemClock });
  /** As the owner of the tables, who has no key. */
  const tamper = async (statement: string) => {
    await using vault = await openedVault();
    const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    await sql.unsafe(
      `begin; alter table audit_logs disable row level security; alter table audit_logs no force row level security;
      ${statement};
      alter table audit_logs enable row level security; alter table audit_logs force row level security; commit`,
    );
    await sql.end({ timeout: 5 });
  };

  beforeAll(async () => {
    const server = await startReplica(environment);
    // It makes the first tenant of a new vault after it has begun to serve.
    await vi.waitFor(async () =>
      expect((await operations()).rows.map(({ operation }) => operation)).toContain("create"),
    );
    tenantId = (await createTenant()).tenant_id;
    const other = await createTenant();
    const deletion = { method: "DELETE", headers: { "BT-API-KEY": other.key } };
    expect((await fetch(`${server.url}/tenants/self`, deletion)).status).toBe(204);
    await server.stop();
    open = await openedVault();
    for (const args of [
      ["keys", "rotate", "--root"],
      ["export", "--file", join(directory, "copy")],
    ]) {
      expect(await cloakroom(environment, ...args)).toMatchObject({ code: 0 });
    }
  });
  afterAll(async () => {
    await open?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("has the start and stop of a server, tenants that came and went, root keys and exports", async () => {
    const { rows, complete, chain } = await operations();
    expect([complete, chain]).toEqual([true, "whole"]);
    const told = rows.map(({ entity_type, operation, client }) => `${entity_type} ${operation} ${client ?? "-"}`);
    expect(told.slice(0, 6)).toEqual([
      "export create operator",
      "root_key update operator",
      "server stop -",
      "tenant delete -",
      "tenant create operator",
      "tenant create operator",
    ]);
    // The server writes its start, and the first tenant of a new vault, at the same time.
    expect(told.slice(6).toSorted()).toEqual(["server start -", "tenant create -"]);
    const [, , stop, , created] = rows;
    expect(rows.find(({ operation }) => operation === "start")?.entity_id).toBe(stop?.entity_id);
    expect(created?.message).toMatch(/^Tenant created: by \S+ on \S+$/);
    expect((await operations("--limit", "1")).complete).toBe(false);
    expect((await operations("--until", "1d")).rows).toEqual([]);
  });

  it("leaves rows of operators in the logs of the tenants that they touch", async () => {
    const { code } = await cloakroom(
      environment,
      "tenants",
      "update",
      "--id",
      tenantId,
      "--included-monthly-active-tokens",
      "5",
    );
    expect(code).toBe(0);
    expect((await cloakroom(environment, "audit", "export", "--tenant", tenantId)).code).toBe(0);
    const { stdout } = await cloakroom(environment, "audit", "who-read", tenantId, "--json");
    expect(JSON.parse(stdout).rows).toEqual([]);
    // An export has sealed rows only, and these are of this minute.
    if (!open || !isTenantId(tenantId)) throw new Error("there is no tenant");
    const rows = await open.database
      .of(tenantId)
      .bulk((tx) => tx.query(listLogRows, { client: "operator", after: undefined, offset: 0, limit: 9 }));
    expect(rows.map(({ message }) => message)).toEqual([
      "Log listed: exported by an operator",
      "Tenant updated: plan",
      "Tenant updated: root key replaced",
    ]);
  });

  it("is verified with the others, and shows rows that were changed, removed or added", async () => {
    expect(await verify()).toEqual({ code: 0, details: [] });
    await tamper(`update audit_logs set message = message || ' ' where ${vaultRows} and operation = 'delete'`);
    expect(await verify()).toEqual({
      code: 1,
      details: [
        "a row of the vault's own log was changed or added",
        "a row of the vault's own log was changed or is gone",
      ],
    });
    await tamper(`update audit_logs set message = trim(message) where ${vaultRows} and operation = 'delete'`);
    expect((await verify()).code).toBe(0);
  });

  it("goes on after an operator has looked into a finding, and shows later ones", async () => {
    await tamper(`delete from audit_logs where ${vaultRows} and operation = 'stop'`);
    expect((await verify()).details).toEqual(["a row of the vault's own log was changed or is gone"]);
    expect((await operations()).chain).toBe("tampered with");
    expect((await cloakroom(environment, "audit", "restart", "--vault")).code).toBe(0);
    expect((await verify()).code).toBe(0);
    await tamper(`delete from audit_logs where ${vaultRows} and operation = 'start'`);
    expect((await verify()).details).toHaveLength(1);
  });
});
