import { expect } from "vitest";
import { isTenantId, type TenantId } from "../../../src/base/ids.js";
import { connect, type DatabaseAddress, type Sql } from "../../../src/store/postgres/connect.js";
import { asTenant } from "../../support/databases.js";

/** The number of a tenant's rows, and of those that are inconsistent. */
interface Books {
  readonly tokens: number;
  readonly responses: number;
  readonly amiss: Readonly<Record<string, number>>;
}

/**
 * Each counts rows that must not exist. A token is active in the month it was created in, and in no other within a
 * test.
 */
const AMISS = {
  "types whose counter is wrong": `
    select count(*) from (select type, count(*) as n from tokens group by type) t
    full join (select type, sum(n) as n from token_counts group by type) c using (type) where t.n is distinct from c.n`,
  "months whose counter is wrong": `
    select count(*) from (
      select date_trunc('month', created_at at time zone 'UTC')::date as month, count(*) as n
      from audit_logs where operation = 'create' and entity_type in ('card', 'token') group by 1) t
    full join (select month, sum(n) as n from token_activity group by month) c using (month) where t.n is distinct from c.n`,
  "tokens without exactly one row about their creation": `
    select count(*) from tokens t left join (
      select entity_id, entity_type, count(*) as n from audit_logs where operation = 'create' group by 1, 2) a
    on a.entity_id = t.id and a.entity_type = t.type where a.n is distinct from 1`,
  "tokens with a creation row that are neither stored nor logged as ended once": `
    select count(*) from audit_logs a left join tokens t on t.id = a.entity_id left join (
      select entity_id, count(*) as n from audit_logs where operation in ('delete', 'expire') group by 1) e
    on e.entity_id = a.entity_id
    where a.operation = 'create' and a.entity_type in ('card', 'token')
      and (t.id is not null)::int + coalesce(e.n, 0) <> 1`,
  "terms of tokens that are not there": `
    select count(*) from token_terms m where not exists (
      select from tokens t where t.id = m.token_id and t.created_at = m.created_at)`,
  "tokens with more or fewer terms than others of their type": `
    select count(*) from (
      select t.id, count(m.term) as n, max(count(m.term)) over (partition by t.type) as most
      from tokens t left join token_terms m on m.token_id = t.id group by t.type, t.id) terms where n <> most or n = 0`,
  "cards without a code, or codes without a card": `
    select count(*) from (select id from tokens where type = 'card') t
    full join token_cvc c on c.token_id = t.id where t.id is null or c.token_id is null`,
  "codes that no sweep will look for": `
    select count(*) from token_cvc c where not exists (
      select from due d where d.kind = 'cvc' and d.due_at between c.due_at - interval '1 minute' and c.due_at + interval '1 minute')`,
};

async function read(sql: Sql, tenantId: TenantId): Promise<Books> {
  const of = async (query: string) => {
    const [row] = await asTenant<{ count: number }>(sql, tenantId, query);
    return row?.count ?? Number.NaN;
  };
  const amiss: Record<string, number> = {};
  for (const [name, query] of Object.entries(AMISS)) amiss[name] = await of(query);
  return {
    tokens: await of("select count(*) from tokens"),
    responses: await of("select count(*) from idempotency_keys"),
    amiss,
  };
}

/** Checks by SQL that all stored rows of a tenant's tokens are consistent. */
export async function expectBooksBalanced(address: DatabaseAddress, tenant: string): Promise<Books> {
  if (!isTenantId(tenant)) throw new Error("this is no tenant");
  const sql = connect(address, { connections: 1, statementTimeout: 20_000 });
  try {
    const books = await read(sql, tenant);
    expect(books.amiss).toEqual(Object.fromEntries(Object.keys(AMISS).map((name) => [name, 0])));
    return books;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
