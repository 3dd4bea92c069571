import type { Uuid } from "../../base/ids.js";
import type { ApplicationRow } from "../access/applications.js";
import type { MemberRow } from "../people/members.js";
import type { Sql } from "../postgres/connect.js";

/** Definitions can have 100,000 characters. */
const PAGE = 200;

type StoredMember = Pick<MemberRow, "id" | "user_id" | "role" | "profile" | "created_by">;
type StoredApplication = Pick<ApplicationRow, "id" | "type" | "definition" | "created_by">;

export type RightsRow =
  | { readonly entityType: "member"; readonly row: StoredMember }
  | { readonly entityType: "application"; readonly row: StoredApplication }
  | { readonly entityType: "passkey" | "application_key" | "invitation"; readonly row: { readonly id: Uuid } };

export async function* rightsRows(sql: Sql, tenantId: string): AsyncGenerator<RightsRow> {
  const readRows = <Row extends { readonly id: Uuid }>(table: string, columns = "id") =>
    tableRows<Row>(sql, tenantId, { table, columns });
  for await (const row of readRows<StoredMember>("members", "id, user_id, role, profile, created_by")) {
    yield { entityType: "member", row };
  }
  for await (const row of readRows<StoredApplication>("applications", "id, type, definition, created_by")) {
    yield { entityType: "application", row };
  }
  for await (const row of readRows("passkeys")) yield { entityType: "passkey", row };
  for await (const row of readRows("application_keys")) yield { entityType: "application_key", row };
  for await (const row of readRows("invitations")) yield { entityType: "invitation", row };
}

async function* tableRows<Row extends { readonly id: Uuid }>(
  sql: Sql,
  tenantId: string,
  { table, columns }: { readonly table: string; readonly columns: string },
): AsyncGenerator<Row> {
  let page: readonly Row[] = [];
  do {
    const after = page.at(-1)?.id;
    page = await sql<Row[]>`
      select ${sql.unsafe(columns)} from ${sql(table)}
      where tenant_id = ${tenantId} ${after === undefined ? sql`` : sql`and id > ${after}`} order by id limit ${PAGE}`;
    yield* page;
  } while (page.length === PAGE);
}
