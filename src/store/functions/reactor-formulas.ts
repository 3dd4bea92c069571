import type { Uuid } from "../../base/ids.js";
import type { JsonObject } from "../../base/json.js";
import { type PageRequest, pageOffset } from "../../base/page.js";
import type { Sql } from "../postgres/connect.js";
import { AUTHORSHIP, type AuthorshipColumns } from "../statements/authorship.js";
import { definePage, sizedQueries } from "../statements/counted-page.js";
import { defineNames } from "../statements/named-listing.js";
import { defineDelete, defineHasRow, defineHasWritten, defineRow } from "../statements/row-statements.js";

/** A stored formula: the tenant's own is sealed, an official one readable. */
export interface FormulaRow extends AuthorshipColumns {
  readonly id: Uuid;
  /** Sealed. Null for an official formula. */
  readonly name: Buffer | null;
  readonly official_name: string | null;
  readonly sealed: Buffer | null;
  readonly official: JsonObject | null;
  readonly revision: number;
}

export interface FormulaDraftRow {
  readonly id: Uuid;
  /** Sealed. */
  readonly name: Buffer;
  readonly definition: Buffer;
  readonly created_by: Uuid;
}

/** Returns whether the id was free. */
export const insertFormula = defineHasWritten<FormulaDraftRow>(
  "reactor_formulas",
  (sql, tenantId, row, at) => sql`
    insert into reactor_formulas ${sql({ tenant_id: tenantId, revision: 1, created_at: at, ...row })}
    on conflict do nothing returning 1`,
);

/** A formula of the tenant, or an official one. */
export const readFormula = defineRow<Uuid, FormulaRow>(
  "reactor_formulas",
  (sql, tenantId, id) => sql`
    select id, name, null as official_name, definition as sealed, null::jsonb as official, revision, created_by, created_at, modified_by, modified_at
    from reactor_formulas where tenant_id = ${tenantId} and id = ${id}
    union all
    select id, null, name, null, definition, 0, null, created_at, null, modified_at from official_formulas where id = ${id}
    limit 1`,
);

/** Returns whether the tenant has the formula. If so, it cannot be deleted until the transaction ends. */
export const lockFormula = defineHasRow<Uuid>(
  "reactor_formulas",
  (sql, tenantId, id) => sql`select 1 from reactor_formulas where tenant_id = ${tenantId} and id = ${id} for key share`,
);

/** Names of the official formulas and the tenant's own, newest first. */
export const namesOfFormulas = defineNames("reactor_formulas", (sql) => sql`octet_length(definition)`);

const COLUMNS = `id, name, official_name, sealed, official, revision, ${AUTHORSHIP}`;

/** A page of official formulas and the tenant's own, newest first. */
export const listFormulaRows = definePage<PageRequest, FormulaRow>("reactor_formulas", (sql, tenantId, listing) =>
  sizedQueries(
    sql,
    { table: "formulas", columns: COLUMNS, bytes: sql`coalesce(octet_length(sealed), 0)` },
    {
      total: sql`
        select (select count(*) from reactor_formulas where tenant_id = ${tenantId})
          + (select count(*) from official_formulas)`,
      page: sql`
        from (
          select id, name, null as official_name, definition as sealed, null::jsonb as official, revision, created_by, created_at, modified_by, modified_at
          from reactor_formulas where tenant_id = ${tenantId}
          union all
          select id, null, name, null, definition, 0, null, created_at, null, modified_at from official_formulas
        ) formulas
        order by created_at desc, id desc limit ${listing.size} offset ${pageOffset(listing)}`,
    },
  ),
);

export interface FormulaChange {
  readonly id: Uuid;
  /** Sealed. */
  readonly name: Buffer;
  readonly definition: Buffer;
  readonly modified_by: Uuid;
}

/** Returns whether the tenant has the formula. */
export const updateFormulaRow = defineHasWritten<FormulaChange>(
  "reactor_formulas",
  (sql, tenantId, { id, name, definition, modified_by }, at) => sql`
    update reactor_formulas set name = ${name}, definition = ${definition}, modified_by = ${modified_by},
      modified_at = ${at}, revision = revision + 1
    where tenant_id = ${tenantId} and id = ${id} returning 1`,
);

export const deleteFormulaRow = defineDelete("reactor_formulas");

export const formulaInUse = defineHasRow<Uuid>(
  "reactors",
  (sql, tenantId, id) => sql`select 1 from reactors where tenant_id = ${tenantId} and formula_id = ${id} limit 1`,
);

export interface OfficialFormula {
  readonly id: Uuid;
  readonly name: string;
  readonly definition: JsonObject;
}

/** Writes official formulas, all or none, and replaces those with the same ids. Only the owner of the tables may. */
export async function writeOfficialFormulas(owner: Sql, formulas: readonly OfficialFormula[], at: Date): Promise<void> {
  await owner.begin(async (sql) => {
    for (const { id, name, definition } of formulas) {
      await sql`
        insert into official_formulas (id, name, definition, created_at) values (${id}, ${name}, ${sql.json(definition)}, ${at})
        on conflict (id) do update set name = excluded.name, definition = excluded.definition, modified_at = excluded.created_at`;
    }
  });
}
