import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The end of the name of a migration that builds one index while writers continue. */
const CONCURRENT = ".concurrent.sql";
const INDEX = /^create (?:unique )?index concurrently if not exists (\w+) on (\w+)\b[^;]*;?$/i;

/** What a migration runs. */
export type MigrationPlan =
  | { readonly kind: "transaction"; readonly texts: readonly string[] }
  | { readonly kind: "index"; readonly index: string; readonly table: string; readonly text: string };

export async function listMigrations(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\d{4}_/.test(name)).sort();
}

/**
 * Reads a migration: an .sql file or a folder of them, which is one transaction, or a file `....concurrent.sql` with one
 * index. An index on a table that has rows belongs into the latter: `create index` alone makes all writers wait.
 * @throws {Error} for a file that breaks these rules; a test reads all of them.
 */
export async function readMigration(folder: string, name: string): Promise<MigrationPlan> {
  const texts = await Promise.all((await filesOf(join(folder, name))).map((file) => readFile(file, "utf8")));
  if (name.endsWith(CONCURRENT)) {
    const text = withoutComments(texts.join("\n"));
    const [, index, table] = INDEX.exec(text) ?? [];
    if (index && table) return { kind: "index", index, table, text };
    throw new Error(`${name} must be one statement: create index concurrently if not exists NAME on TABLE ...`);
  }
  const created = new Set(tablesAfter(texts, /\bcreate table (?:if not exists )?(\w+)/gi));
  const waiting = tablesAfter(texts, /\bcreate (?:unique )?index (?:if not exists )?(?:\w+ )?on (?:only )?(\w+)/gi);
  const table = waiting.find((each) => !created.has(each));
  if (table === undefined) return { kind: "transaction", texts };
  throw new Error(
    `${name} builds an index on ${table}, whose writers would wait: move it into a file ...${CONCURRENT}`,
  );
}

/** The tables, made before, whose rows no request can read or write while a migration runs. */
export function lockedTables(plan: MigrationPlan): readonly string[] {
  if (plan.kind === "index") return [];
  const created = new Set(tablesAfter(plan.texts, /\bcreate table (?:if not exists )?(\w+)/gi));
  const altered = tablesAfter(
    plan.texts,
    /\balter table (?:if exists )?(?:only )?(\w+)|\bdrop table (?:if exists )?(\w+)/gi,
  );
  return [...new Set(altered)].filter((table) => !created.has(table));
}

function tablesAfter(texts: readonly string[], pattern: RegExp): string[] {
  return texts.flatMap((text) =>
    [...withoutComments(text).matchAll(pattern)].map(([, first, second]) => (first ?? second ?? "").toLowerCase()),
  );
}

function withoutComments(text: string): string {
  return text.replace(/--[^\n]*/g, "").trim();
}

async function filesOf(migration: string): Promise<string[]> {
  if (migration.endsWith(".sql")) return [migration];
  return (await readdir(migration)).sort().map((name) => join(migration, name));
}
