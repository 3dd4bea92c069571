import type { Sql } from "./connect.js";

/** What the database knows of a root key. */
export interface RootKeyRow {
  readonly id: string;
  readonly check_value: Buffer;
}

export function listRootKeys(sql: Sql): Promise<readonly RootKeyRow[]> {
  return sql<RootKeyRow[]>`select id, check_value from root_keys order by created_at`;
}

export async function insertRootKey(sql: Sql, { id, check_value }: RootKeyRow): Promise<void> {
  await sql`insert into root_keys (id, check_value, created_at) values (${id}, ${check_value}, now()) on conflict do nothing`;
}
