// Computes: 15 s
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { createKeyFile } from "../../src/crypto/key-file.js";
import { readConfig } from "../../src/settings/config.js";
import { connect } from "../../src/store/postgres/connect.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { requireMigrated } from "../../src/vault/configured-database.js";
import { initVault } from "../../src/vault/prepare-vault.js";
import { openVault, type Vault } from "../../src/vault/vault.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresCluster } from "../support/postgres-cluster.js";

let cluster: PostgresCluster;
beforeAll(async () => {
  cluster = await PostgresCluster.start();
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** An operator's set-up: the environment of every command, and the place of the root key. */
interface Installation {
  readonly environment: Record<string, string>;
  readonly keyFile: string;
}

let installations = 0;

function directory(): string {
  const made = newDirectory();
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function onMachine(environment: Record<string, string>): Installation {
  const dataDir = join(directory(), "data");
  return { environment: { ...environment, CLOAKROOM_DATA_DIR: dataDir }, keyFile: join(dataDir, "root.key") };
}

async function newDatabase(attributes: string): Promise<string> {
  installations += 1;
  const login = `vault_${installations}`;
  const url = await cluster.login(login, { attributes });
  await cluster.grantRoles(login);
  return url;
}

async function withDatabase(attributes = "createrole"): Promise<Installation & { readonly url: string }> {
  const url = await newDatabase(attributes);
  return { ...onMachine({ DATABASE_URL: url }), url };
}

async function init({ environment }: Installation): Promise<string[]> {
  const said: string[] = [];
  await initVault(readConfig(environment), (line) => said.push(line));
  return said;
}

const open = ({ environment }: Installation): Promise<Vault> =>
  openVault({ config: readConfig(environment), as: "server", announce: () => {}, clock: systemClock });

/** Opens a vault, runs something with it, and closes it. */
async function withVault<T>(installation: Installation, use: (vault: Vault) => Promise<T>): Promise<T> {
  await using vault = await open(installation);
  return await use(vault);
}

async function query(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const sql = connect({ url }, { connections: 1, statementTimeout: 5_000 });
  try {
    return [...(await sql.unsafe<Record<string, unknown>[]>(statement))];
  } finally {
    await sql.end();
  }
}

const aTenant = (vault: Vault) => provisionTenant(vault, { name: "Test", ownerEmail: "owner@example.com" });

describe("a login that may not create roles", () => {
  it("gets the statements for an administrator, from start and init, before anything is created", async () => {
    // The roles belong to the cluster, so this test must come before the others create them there.
    const installation = await withDatabase("");
    const statements = [
      "create role cloakroom_app nologin nosuperuser nobypassrls;",
      "create role cloakroom_jobs nologin nosuperuser nobypassrls;",
      `grant cloakroom_app, cloakroom_jobs to "${new URL(installation.url).username}";`,
    ];
    for (const attempt of [open, init]) {
      const refusal = await attempt(installation).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ name: "DatabaseSetupError" });
      expect(String(refusal).split("\n").slice(1)).toEqual(statements);
    }
    expect(existsSync(installation.keyFile)).toBe(false);
    for (const statement of statements) await cluster.admin.unsafe(statement);
    await init(installation);
    await withVault(installation, aTenant);
  });
});

describe("a database in DATABASE_URL", () => {
  it("is not touched before init: the start names the command to run, and creates neither tables nor a root key", async () => {
    const installation = await withDatabase();
    await expect(open(installation)).rejects.toMatchObject({
      name: "DatabaseSetupError",
      message: "The database has no schema yet. Run: cloakroom init",
    });
    expect(await query(installation.url, "select 1 from pg_tables where schemaname = 'public'")).toEqual([]);
    expect(existsSync(installation.keyFile)).toBe(false);
  });

  it("is set up by init, which can be run again and then changes nothing", async () => {
    const installation = await withDatabase();
    const first = await init(installation);
    expect(first[0]).toMatch(/^Applied migration 0001_/);
    expect(first.at(-1)).toBe(
      `Made the root key ${installation.keyFile}. Back it up: without it nothing stored can ever be read.`,
    );
    expect(statSync(installation.keyFile).mode & 0o777).toBe(0o600);
    const key = readFileSync(installation.keyFile, "utf8");
    expect(await init(installation)).toEqual([expect.stringMatching(/^The root key [0-9a-f]{16} is the one of this/)]);
    expect(readFileSync(installation.keyFile, "utf8")).toBe(key);
    await withVault(installation, async (vault) => {
      expect(await vault.keyring.of((await aTenant(vault)).tenantId)).toBeDefined();
    });
    // No tenant is created automatically here.
    expect(await query(installation.url, "select 1 from tenants")).toHaveLength(1);
  });

  it("names the command to run if it lacks a newer migration", async () => {
    const installation = await withDatabase();
    await init(installation);
    const folder = join(directory(), "migrations");
    cpSync("src/store/migrations", folder, { recursive: true });
    writeFileSync(join(folder, "0002_plans.sql"), "create table plans (id int);");
    await expect(requireMigrated({ url: installation.url }, folder)).rejects.toThrow(
      "The database lacks the migrations 0002_plans.sql. Run: cloakroom migrate",
    );
  });

  it("gets one root key if several machines set it up concurrently", async () => {
    const machine = await withDatabase();
    const others = [1, 2, 3].map(() => onMachine({ DATABASE_URL: machine.url }));
    const outcomes = await Promise.allSettled([machine, ...others].map(init));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes.filter(({ status }) => status === "rejected")) {
      expect(outcome).toMatchObject({
        reason: { name: "KeyFileError", message: expect.stringContaining("is missing") },
      });
    }
    expect(await query(machine.url, "select 1 from root_keys")).toHaveLength(1);
    expect([machine, ...others].filter(({ keyFile }) => existsSync(keyFile))).toHaveLength(1);
  });

  it("is set up by several concurrent processes of one machine", async () => {
    const machine = await withDatabase();
    await Promise.all([1, 2, 3, 4].map(() => init(machine)));
    expect(await query(machine.url, "select 1 from root_keys")).toHaveLength(1);
    await withVault(machine, aTenant);
  });

  it("accepts a prepared key that init finds, and registers it", async () => {
    const installation = await withDatabase();
    const { id } = await createKeyFile(installation.keyFile);
    await init(installation);
    expect(await query(installation.url, "select id from root_keys")).toEqual([{ id }]);
  });

  it("can be owned by one login and used by another, which knows no password of the first", async () => {
    const owner = await withDatabase();
    const app = `app_${installations}`;
    await cluster.login(app, { ownsDatabase: false });
    await cluster.grantRoles(app);
    const url = cluster.url(app, `vault_${installations}`);
    const environment = { ...owner.environment, DATABASE_URL: url };
    await init({ ...owner, environment: { ...environment, MIGRATE_DATABASE_URL: owner.url } });
    await withVault({ ...owner, environment }, async (vault) => {
      const { tenantId } = await aTenant(vault);
      expect(await vault.keyring.of(tenantId)).toBeDefined();
    });
    expect(await query(url, "select 1 from tenants"), "without a tenant set").toEqual([]);
  });
});

describe("a login", () => {
  it("gets the missing grants if it may no longer act as the application", async () => {
    const installation = await withDatabase();
    await init(installation);
    const login = new URL(installation.url).username;
    await cluster.admin.unsafe(`revoke cloakroom_app from ${login}`);
    await expect(open(installation)).rejects.toMatchObject({
      name: "DatabaseSetupError",
      message: expect.stringMatching(new RegExp(`\\ngrant cloakroom_app to "${login}";$`)),
    });
  });

  it.each(["superuser", "bypassrls"])("is refused if its effective role is %s, with the remedy", async (attribute) => {
    const installation = await withDatabase();
    await init(installation);
    await cluster.admin.unsafe(`alter role cloakroom_app ${attribute}`);
    await expect(open(installation)).rejects.toMatchObject({
      name: "DatabaseSetupError",
      message: expect.stringContaining("Run: alter role cloakroom_app nosuperuser nobypassrls;"),
    });
    await cluster.admin.unsafe("alter role cloakroom_app nosuperuser nobypassrls");
    await withVault(installation, aTenant);
  });

  it("acts as the unprivileged role even if it is a superuser", async () => {
    const installation = onMachine({ DATABASE_URL: cluster.url("postgres", "postgres") });
    const warning =
      "Warning: DATABASE_URL logs in as postgres, a superuser or a role that bypasses row-level security.";
    expect(await init(installation)).toContainEqual(expect.stringContaining(warning));
    await withVault(installation, async (vault) => {
      const { tenantId } = await aTenant(vault);
      const other = await aTenant(vault);
      const sql = connect(vault.address, { role: "cloakroom_app", connections: 1, statementTimeout: 5_000 });
      const seen = await sql.begin(async (tx) => {
        await tx.unsafe(`set local app.tenant_id = '${tenantId}'`);
        return tx`select tenant_id from tenants`;
      });
      await sql.end();
      expect([...seen]).toEqual([{ tenant_id: tenantId }]);
      expect(other.tenantId).not.toBe(tenantId);
    });
  });
});

it("a database that was set up by PostgreSQL's first superuser can be given to a login, as the warning says", async () => {
  await cluster.admin.unsafe("create database of_superuser");
  const url = cluster.url("postgres", "of_superuser");
  const installation = onMachine({ DATABASE_URL: url });
  const [warning = ""] = (await init(installation)).filter((line) => line.startsWith("Warning: "));
  const [, statements = ""] = warning.split("Run:\n");
  const admin = connect({ url }, { connections: 1, statementTimeout: 20_000 });
  await admin.unsafe(statements.replace("'...'", "'a-password'"));
  // Also a table's owner can change it, as migrations do.
  const own = connect(
    { url: url.replace(/\/\/[^@]*@/, "//cloakroom:a-password@") },
    { connections: 1, statementTimeout: 20_000 },
  );
  await own.unsafe("alter table tenants add column tried int");
  await own.unsafe("alter table tenants drop column tried");
  await own.end();
  await admin.end();
  const given = {
    ...installation,
    environment: {
      ...installation.environment,
      DATABASE_URL: url.replace(/\/\/[^@]*@/, "//cloakroom:a-password@"),
    },
  };
  expect((await init(given)).filter((line) => line.startsWith("Warning: "))).toEqual([]);
  await withVault(given, aTenant);
});

it("a superuser that is not PostgreSQL's first role can be made an ordinary login, as the warning says", async () => {
  const installation = await withDatabase("superuser");
  const [warning = ""] = (await init(installation)).filter((line) => line.startsWith("Warning: "));
  const [, statements = ""] = warning.split("Run:\n");
  await cluster.admin.unsafe(statements);
  expect((await init(installation)).filter((line) => line.startsWith("Warning: "))).toEqual([]);
  await withVault(installation, aTenant);
});

describe("an unreachable address", () => {
  const NOWHERE = "postgres://vault:secret-password@127.0.0.1:1/vault";
  const cases: [string, (url: string) => string, string][] = [
    ["no server listens at", () => NOWHERE, "The database that DATABASE_URL names does not respond (ECONNREFUSED)."],
    [
      "has a wrong password",
      (url) => url.replace(/:[^:@]*@/, ":secret-password@"),
      "The database refuses the login that DATABASE_URL names (28P01): check its password.",
    ],
    [
      "names no database",
      (url) => `${url}_of_nobody`,
      "The database named in DATABASE_URL does not exist. Create it, owned by its login.",
    ],
    [
      "is another database's",
      () => "mysql://vault:secret-password@127.0.0.1:3306/vault",
      "DATABASE_URL must begin with postgres://",
    ],
    [
      "asks for TLS of a server that has none",
      (url) => `${url}?sslmode=require`,
      "The server that DATABASE_URL names does not support TLS, which sslmode=require asks for.",
    ],
    [
      "has an unknown sslmode",
      (url) => `${url}?sslmode=bogus`,
      "The sslmode of DATABASE_URL must be one of disable, allow, prefer, require, verify-ca, verify-full.",
    ],
    [
      "is malformed",
      () => "secret-password at localhost",
      "DATABASE_URL must be an address such as postgres://user:password@host:5432/database.",
    ],
  ];
  it.each(cases)("because it %s is one line for the operator, without the password", async (_, wrong, message) => {
    const installation = await withDatabase();
    const environment = { ...installation.environment, DATABASE_URL: wrong(installation.url) };
    for (const attempt of [open, init]) {
      const failing = attempt({ ...installation, environment });
      await expect(failing).rejects.toMatchObject({ name: "DatabaseSetupError", message });
    }
    expect(existsSync(installation.keyFile)).toBe(false);
  });
});

describe.each(["an embedded database", "a database that DATABASE_URL names"])("the root key of %s", (kind) => {
  let installation: Installation;

  let key: string;
  let before: unknown;
  let tenant: Awaited<ReturnType<typeof aTenant>>;
  let root: string;

  beforeAll(async () => {
    root = newDirectory();
    const dataDir = join(root, "data");
    installation = { environment: { CLOAKROOM_DATA_DIR: dataDir }, keyFile: join(dataDir, "root.key") };
    if (kind !== "an embedded database") {
      const url = await newDatabase("createrole");
      installation = { ...installation, environment: { ...installation.environment, DATABASE_URL: url } };
      await init(installation);
    }
    tenant = await withVault(installation, aTenant);
    before = await stored();
    key = readFileSync(installation.keyFile, "utf8");
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  /** The stored keys and tenants, to check that a refused start changed none of them. */
  async function stored() {
    return withVault(installation, async (vault) => {
      const sql = connect(vault.ownerAddress, { connections: 1, statementTimeout: 5_000 });
      const rootKeys = await sql`select id, check_value from root_keys`;
      const tenants = await sql`select tenant_id, state from tenants`;
      await sql.end();
      return { rootKeys: [...rootKeys], tenants: [...tenants] };
    });
  }

  it("is required at every start, and opens what it sealed", async () => {
    await withVault(installation, async (vault) => {
      expect(vault.isEmpty).toBe(false);
      expect(await vault.keyring.of(tenant.tenantId)).toBeDefined();
    });
  });

  const wrongKeys: [string, () => Promise<void> | void, RegExp][] = [
    ["is missing", () => rmSync(installation.keyFile), /^The root key .* is missing\. .* restore it from your backup/],
    [
      "is another one",
      async () => {
        rmSync(installation.keyFile);
        await createKeyFile(installation.keyFile);
      },
      /^The root key .* is not the one this database was made with \(it needs [0-9a-f]{16}\)\. Restore the right one/,
    ],
    [
      "has the right id and other bytes",
      () => writeFileSync(installation.keyFile, key.replace(/\.[A-Za-z0-9_-]{42}/, `.${"A".repeat(42)}`)),
      /^The root key .* is not the one this database was made with/,
    ],
    ["is open to others", () => chmodSync(installation.keyFile, 0o640), /can be read by others\. Run: chmod 600 /],
    ["is cut off", () => writeFileSync(installation.keyFile, key.slice(0, -10)), / is not a Cloakroom root key\. /],
    ["is empty", () => writeFileSync(installation.keyFile, ""), / is not a Cloakroom root key\. /],
  ];
  it.each(wrongKeys)(
    "that %s stops the start with one line, makes no other and writes nothing",
    async (_, spoil, message) => {
      await spoil();
      const found = existsSync(installation.keyFile) ? readFileSync(installation.keyFile) : undefined;
      const refusal = await open(installation).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ name: "KeyFileError", message: expect.stringMatching(message) });
      expect(String(refusal).split("\n")).toHaveLength(1);
      expect(String(refusal)).not.toContain(key.split(".")[2]?.trim());
      const left = existsSync(installation.keyFile) ? readFileSync(installation.keyFile) : undefined;
      expect(left).toEqual(found);
      rmSync(installation.keyFile, { force: true });
      writeFileSync(installation.keyFile, key, { mode: 0o600 });
      expect(await stored()).toEqual(before);
    },
  );
});
