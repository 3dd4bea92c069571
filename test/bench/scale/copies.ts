import type { Sql } from "../../../src/store/postgres/connect.js";
import { say } from "../table.js";

/** Terms of more tokens than this are types, containers and common values: copies share them. */
const COMMON = 10_000;

/**
 * Multiplies a tenant's tokens: each becomes `factor` tokens, its copies older than all originals, with terms and
 * counters. A term that few tokens share (a customer) is also shared by their copies of the same round, and by no
 * others. The copied ciphertexts have the right size but belong to another id and cannot be opened: no measured page
 * contains one.
 */
export async function multiplyTokens(sql: Sql, factor: number): Promise<void> {
  await sql`create temporary table common as select term from token_terms group by term having count(*) > ${COMMON}`;
  await sql`create temporary table originals as select * from tokens`;
  await sql`create temporary table original_terms as
    select t.*, exists (select from common c where c.term = t.term) as is_common from token_terms t`;
  const [span] = await sql<{ span: string }[]>`
    select (max(created_at) - min(created_at) + interval '1 second')::text as span from originals`;
  for (let round = 1; round < factor; round += 1) {
    const earlier = sql`(${round}::int * ${span?.span ?? ""}::interval)`;
    const copy = sql`md5(id || ${String(round)})::uuid::text`;
    const copyOfToken = sql`md5(token_id || ${String(round)})::uuid::text`;
    await sql`
      insert into tokens (tenant_id, id, type, data, attributes, containers, fingerprint, revision, active_month, created_by, created_at)
      select tenant_id, ${copy}, type, data, attributes, containers, fingerprint, revision, active_month, created_by,
        created_at - ${earlier} from originals`;
    await sql`
      insert into token_terms (tenant_id, term, created_at, token_id)
      select tenant_id, case when is_common then term else substring(sha256(term || ${String(round)}::bytea) for length(term)) end,
        created_at - ${earlier}, ${copyOfToken} from original_terms`;
    say(`  round ${round} of ${factor - 1}`);
  }
  await sql`update token_counts set n = n * ${factor}`;
  await sql`update token_activity set n = n * ${factor}`;
  await sql`vacuum analyze tokens, token_terms, token_counts`;
}
