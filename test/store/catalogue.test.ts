import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { partitionNamed } from "../../src/store/audit/log-partitions.js";
import { listNodeTables } from "../../src/store/cluster/table-placements.js";
import { migrate } from "../../src/store/migrate.js";
import { connect, type Sql } from "../../src/store/postgres/connect.js";
import { SEALED_TABLES } from "../../src/store/tenancy/sealed-columns.js";
import { PostgresCluster } from "../support/postgres-cluster.js";
import { tenantTables } from "./support/samples.js";

let cluster: PostgresCluster;
let sql: Sql;
let ours: string[];
/** Of the log. No role but the owner uses them by their names. */
let partitions: string[];
beforeAll(async () => {
  cluster = await PostgresCluster.start();
  const url = await cluster.login("vault", { attributes: "createrole" });
  await migrate({ url });
  sql = connect({ url: cluster.url("postgres", "vault") }, { connections: 1, statementTimeout: 10_000 });
  ours = await tenantTables(sql);
  partitions = await column(
    "select relname::text as value from pg_class where relkind = 'r' and relispartition order by 1",
  );
});
afterAll(async () => {
  await sql?.end();
  await cluster?.[Symbol.asyncDispose]();
});

/** The tables without tenants' rows, which need no row-level security, and the rights on them. */
const OF_NO_TENANT = {
  // Job names, and the processes that run them.
  leases: "delete insert select update",
  // Completed migrations.
  migrations: "select",
  // Formulas that are offered to all tenants.
  official_formulas: "select",
  // The id of each root key and a wrapped constant.
  root_keys: "select",
};

async function column(query: string): Promise<string[]> {
  const rows = await sql.unsafe<{ value: string }[]>(query);
  return rows.map(({ value }) => value);
}

describe("every table", () => {
  it("holds tenants' rows, except for a listed few", async () => {
    const all = await column("select tablename::text as value from pg_tables where schemaname = 'public' order by 1");
    const others = all.filter((table) => !ours.includes(table) && !partitions.includes(table));
    expect(others).toEqual(Object.keys(OF_NO_TENANT));
    expect(partitions.every((name) => name === "audit_logs_default" || partitionNamed(name))).toBe(true);
  });

  it("is distributed over the nodes of a cluster, after all tables that it refers to, if it has tenants", async () => {
    const tables = await listNodeTables(sql);
    const wanted = (placement: string) => tables.filter((one) => one.wanted === placement).map(({ table }) => table);
    expect(wanted("distributed").toSorted()).toEqual(ours);
    expect(wanted("reference")).toEqual(["official_formulas"]);
    expect(tables[0]?.table).toBe("tenants");
    const order = tables.map(({ table }) => table);
    const references = await sql<{ from: string; to: string }[]>`
      select conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint where contype = 'f'`;
    expect(references.length).toBeGreaterThan(0);
    for (const { from, to } of references) expect(order.indexOf(from)).toBeGreaterThan(order.indexOf(to));
  });

  it("enables and forces row-level security if it has tenants", async () => {
    const guarded = await column(`
      select relname::text as value from pg_class
      where relnamespace = 'public'::regnamespace and relrowsecurity and relforcerowsecurity order by 1`);
    expect(guarded).toEqual([...ours, ...partitions].sort());
  });

  it("has the one policy if it has tenants, and the exceptions are known", async () => {
    const policies = await column(`
      select format('%s on %s to %s for %s using %s', policyname, tablename, array_to_string(roles, ','), lower(cmd), qual)
        || coalesce(' with check ' || with_check, '') || case permissive when 'PERMISSIVE' then '' else ' restrictive' end
        as value
      from pg_policies`);
    const tenant = "(tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid)";
    const expected = [
      ...ours.map((table) => `of_tenant on ${table} to cloakroom_app for all using ${tenant}`),
      "of_jobs on due to cloakroom_jobs for select using true",
      "of_operator on audit_heads to vault for select using true",
      "of_operator on audit_logs_default to vault for all using true",
      "of_operator on tenants to vault for select using true",
    ];
    expect(policies.toSorted()).toEqual(expected.toSorted());
  });

  it("has tenant_id first in every key, index and foreign key if it has tenants", async () => {
    const others = await column(`
      select i.indexrelid::regclass::text as value from pg_index i
      join pg_class c on c.oid = i.indrelid and c.relnamespace = 'public'::regnamespace
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where c.relname = any(array['${ours.join("','")}']) and a.attname <> 'tenant_id'`);
    // Rows of all tenants come in the order of their ids: that takes 59 bytes a row of the log, and tenants first 105.
    // The hash of an entity is one of the tenant too. Sweeps look for due rows of any tenant.
    expect(others.toSorted()).toEqual(["audit_logs_entity", "audit_logs_pkey", "due_by_kind"]);
    const foreign = await column(`
      select conname::text as value from pg_constraint where contype = 'f' and not exists (
        select from pg_attribute where attrelid = conrelid and attnum = conkey[1] and attname = 'tenant_id')`);
    expect(foreign).toEqual([]);
  });
});

/** Bytes that cannot be opened: hashes and keyed hashes, and keys wrapped by a root key. */
const NOT_SEALED = [
  "application_keys.key_hash",
  "audit_heads.attested_mac",
  "audit_heads.last_mac",
  "audit_heads.mac",
  "audit_seals.digest",
  "audit_seals.mac",
  "audit_seals.previous",
  "audit_seals.signature",
  "audit_stamps.token",
  "idempotency_keys.key_hash",
  "idempotency_keys.maker",
  "idempotency_keys.request_hash",
  "invitations.email_term",
  "member_identities.identity_term",
  "known_browsers.browser_hash",
  "passkeys.credential_hash",
  "members.email_term",
  "payments.external_term",
  "proxies.key_hash",
  "sessions.key_hash",
  "sessions.nonce_hash",
  "mail_counts.counted",
  "sign_in_requests.browser_hash",
  "sign_in_requests.mail_key",
  "sign_ins.token_hash",
  "tenant_keys.wrapped",
  "tenants.closing_mac",
  "token_terms.term",
  "tokens.dedupe_key",
  "tokens.fingerprint",
];

describe("every column of type bytea", () => {
  it("is known to key rotation, or contains nothing sealed", async () => {
    const all = await column(`
      select table_name || '.' || column_name as value from information_schema.columns
      where table_schema = 'public' and udt_name = 'bytea' and table_name = any(array['${ours.join("','")}'])`);
    const sealed = SEALED_TABLES.flatMap(({ table, columns }) => columns.map(({ name }) => `${table}.${name}`));
    expect(all.toSorted()).toEqual([...sealed, ...NOT_SEALED].toSorted());
  });
});

describe("features that a distributed engine would reject", () => {
  it.each([
    [
      "sequences",
      "select relname::text as value from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace",
    ],
    ["triggers", "select tgname::text as value from pg_trigger where not tgisinternal"],
    [
      "functions, except for the one that makes months of the log, which no statement on rows calls",
      "select proname::text as value from pg_proc where pronamespace = 'public'::regnamespace and proname <> 'make_log_month'",
    ],
    [
      "views",
      "select relname::text as value from pg_class where relkind in ('v', 'm') and relnamespace = 'public'::regnamespace",
    ],
    [
      "indexes other than trees",
      "select c.relname::text as value from pg_class c join pg_am a on a.oid = c.relam where relkind = 'i' and relnamespace = 'public'::regnamespace and amname <> 'btree'",
    ],
    [
      // Citus refuses a generated column for the distribution column alone.
      "generated columns and defaults, except for the hash in the log",
      `select adrelid::regclass::text as value from pg_attrdef
       join pg_attribute on attrelid = adrelid and attnum = adnum where attname <> 'entity_hash'`,
    ],
    [
      "exclusion and deferrable constraints",
      "select conname::text as value from pg_constraint where connamespace = 'public'::regnamespace and (contype = 'x' or condeferrable)",
    ],
  ])("are not used: %s", async (_, query) => {
    expect(await column(query)).toEqual([]);
  });
});

describe("the roles", () => {
  it("may not log in, bypass row-level security, or create anything", async () => {
    const roles = await sql`
      select rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls
      from pg_roles where rolname like 'cloakroom%' order by 1`;
    const meek = {
      ...{ rolsuper: false, rolinherit: true, rolcreaterole: false, rolcreatedb: false },
      ...{ rolcanlogin: false, rolreplication: false, rolbypassrls: false },
    };
    expect([...roles]).toEqual([
      { rolname: "cloakroom_app", ...meek },
      { rolname: "cloakroom_jobs", ...meek },
    ]);
  });

  it("are members of no role, neither of each other nor of the login", async () => {
    const memberships = await column(`
      select format('%s is a %s', member::regrole, roleid::regrole) as value
      from pg_auth_members where member::regrole::text not like 'pg\\_%' and roleid::regrole::text not like 'pg\\_%'
      group by 1 order by 1`);
    expect(memberships.filter((text) => !text.startsWith("postgres"))).toEqual([
      "vault is a cloakroom_app",
      "vault is a cloakroom_jobs",
    ]);
  });

  it("have the rights on tables that they need, and no more", async () => {
    const grants = await column(`
      select format('%s: %s on %s', grantee, string_agg(lower(privilege_type), ' ' order by privilege_type), table_name) as value
      from information_schema.role_table_grants
      where table_schema = 'public' and grantee <> 'vault' group by grantee, table_name`);
    const expected = [
      ...ours.map((table) => `cloakroom_app: delete insert select update on ${table}`),
      ...Object.entries(OF_NO_TENANT).map(([table, rights]) => `cloakroom_app: ${rights} on ${table}`),
      "cloakroom_jobs: select on due",
    ];
    expect(grants.toSorted()).toEqual(expected.toSorted());
  });

  it("create nothing in the schema", async () => {
    for (const role of ["cloakroom_app", "cloakroom_jobs"]) {
      const [row] = await sql`select has_schema_privilege(${role}, 'public', 'create') as may`;
      expect(row?.may, role).toBe(false);
    }
  });
});
