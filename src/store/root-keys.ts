import type { Sql } from "./connect.js";

/** What the database knows of a root key. */
export interface RootKeyRow {
  readonly id: string;
  readonly check_value: Buffer;
  /** Since when it wraps nothing new. Null for the one that wraps. */
  readonly retired_at: Date | null;
  /** How many shares bring it back, where it was split. */
  readonly threshold: number | null;
}

export type NewRootKey = Pick<RootKeyRow, "id" | "check_value">;

/** All root keys the database was ever used with, the first one first. */
export function listRootKeys(sql: Sql): Promise<readonly RootKeyRow[]> {
  return sql<RootKeyRow[]>`select id, check_value, retired_at, threshold from root_keys order by created_at`;
}

/** Registers a root key. One that is registered already stays as it is. */
export async function insertRootKey(sql: Sql, { id, check_value }: NewRootKey): Promise<void> {
  await sql`insert into root_keys (id, check_value, created_at) values (${id}, ${check_value}, now()) on conflict do nothing`;
}

/** Makes another root key the one that wraps. All others are retired by the same statement's transaction. */
export async function supersedeRootKeys(sql: Sql, { id, check_value }: NewRootKey): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`update root_keys set retired_at = now() where retired_at is null and id <> ${id}`;
    await tx`
      insert into root_keys (id, check_value, created_at) values (${id}, ${check_value}, now())
      on conflict (id) do update set retired_at = null, check_value = excluded.check_value`;
  });
}

/** Forgets a root key that nothing is wrapped by any more. */
export async function forgetRootKey(sql: Sql, id: string): Promise<void> {
  await sql`delete from root_keys where id = ${id} and retired_at is not null`;
}

/** Notes that a root key can be brought back from shares. */
export async function noteSplit(sql: Sql, id: string, threshold: number): Promise<void> {
  await sql`update root_keys set threshold = ${threshold} where id = ${id}`;
}
