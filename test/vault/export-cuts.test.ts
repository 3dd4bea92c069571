// Computes: 8 s
import { rmSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { createKeyFile } from "../../src/crypto/key-file.js";
import { createCheckValue, type RootKey } from "../../src/crypto/root-key.js";
import { openDatabase } from "../../src/store/database.js";
import { insertRootKey } from "../../src/store/tenancy/root-keys.js";
import type { RowCounts } from "../../src/store/vault-copy/read-export.js";
import { Keyring } from "../../src/tenancy/keyring.js";
import { provisionTenant } from "../../src/tenancy/provision.js";
import { exportVault } from "../../src/vault/export-vault.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { newDirectory } from "../support/new-directory.js";
import { PostgresProxy } from "../support/postgres-proxy.js";

describe("an export whose connection to the database is cut", () => {
  const directory = newDirectory();
  const keyFile = join(directory, "root.key");
  let source: TestDatabase;
  let root: RootKey;
  beforeAll(async () => {
    source = await startDatabase();
    root = await createKeyFile(keyFile);
    await insertRootKey(source.owner, { id: root.id, check_value: await createCheckValue(root) });
    await using database = openDatabase({
      address: source.address,
      sharedConnections: 2,
      bulkConnections: 1,
      clock: systemClock,
    });
    const parts = { database, rootKey: root, keyring: new Keyring(database, { find: async () => root }) };
    await provisionTenant(parts, { name: "T", ownerEmail: "a@example.com" });
  });
  afterAll(async () => {
    await source?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  interface Exported {
    readonly file: Buffer;
    readonly rows: RowCounts;
  }
  const exportFrom = (proxy: PostgresProxy): Promise<Exported> =>
    exportVault(
      { ownerAddress: proxy.address, rootKey: root },
      () => {},
      async ({ file, rows }) => ({
        file: await buffer(file),
        rows,
      }),
    );
  const sectionsIn = ({ file }: Exported) => gunzipSync(file).toString("latin1").split("\n").slice(1, -2).toSorted();

  it("fails at each kind of statement, the first and the last of its kind, and never ends with fewer rows", async () => {
    await using proxy = await PostgresProxy.before(source.address);
    const whole = await exportFrom(proxy);
    const cuts = endsOfKinds(proxy.texts);
    expect(cuts.length).toBeGreaterThan(12);
    const failed = new Set<number>();
    for (const skip of cuts) {
      for (const at of ["before", "result"] as const) {
        void proxy.set({ at, skip, does: "cut" });
        const exported = await exportFrom(proxy).catch(() => undefined);
        if (!exported) failed.add(skip);
        // At the last statement all rows were read.
        else expect({ skip, at, lines: sectionsIn(exported) }).toEqual({ skip, at, lines: sectionsIn(whole) });
      }
    }
    expect([...failed]).toEqual(expect.arrayContaining(cuts.slice(0, -1)));
  });
});

/**
 * Where each kind of statement comes first and last, in order. Tables that have tenants are one kind and those that have
 * none another, because the export reads them under different roles; all tenants are alike.
 */
function endsOfKinds(statements: readonly string[]): number[] {
  const ends = new Map<string, { readonly first: number; last: number }>();
  for (const [at, text] of statements.entries()) {
    const kind = text.startsWith("copy")
      ? `copy ${text.includes("where tenant_id")}`
      : text.replace(/'[0-9a-f-]{36}'/, "");
    const known = ends.get(kind);
    if (known) known.last = at;
    else ends.set(kind, { first: at, last: at });
  }
  return [...new Set([...ends.values()].flatMap(({ first, last }) => [first, last]))].toSorted((a, b) => a - b);
}
