import type { Sql } from "../postgres/connect.js";

export interface RootKeyRow {
  readonly id: string;
  readonly check_value: Buffer;
  /** When it was replaced: since then it wraps no new keys. Null for the wrapping one. */
  readonly retired_at: Date | null;
  readonly threshold: number | null;
}

export type NewRootKey = Pick<RootKeyRow, "id" | "check_value">;

/** The wrapping root key, and replaced ones not yet removed, oldest first. */
export function listRootKeys(sql: Sql): Promise<readonly RootKeyRow[]> {
  return sql<RootKeyRow[]>`select id, check_value, retired_at, threshold from root_keys order by created_at`;
}

/** Registers a root key. Leaves a registered one unchanged. */
export async function insertRootKey(sql: Sql, { id, check_value }: NewRootKey): Promise<void> {
  await sql`insert into root_keys (id, check_value, created_at) values (${id}, ${check_value}, now()) on conflict do nothing`;
}

/** Makes another root key the wrapping one, and marks all others as replaced in the same transaction. */
export async function replaceRootKeys(sql: Sql, { id, check_value }: NewRootKey): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`update root_keys set retired_at = now() where retired_at is null and id <> ${id}`;
    await tx`
      insert into root_keys (id, check_value, created_at) values (${id}, ${check_value}, now())
      on conflict (id) do update set retired_at = null, check_value = excluded.check_value`;
  });
}

export async function deleteReplacedRootKey(sql: Sql, id: string): Promise<void> {
  await sql`delete from root_keys where id = ${id} and retired_at is not null`;
}

export async function setRootKeyThreshold(sql: Sql, id: string, threshold: number): Promise<void> {
  await sql`update root_keys set threshold = ${threshold} where id = ${id}`;
}
