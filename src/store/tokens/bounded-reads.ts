import { boundQuery } from "../statements/bound-statement.js";
import { integer, text } from "../statements/parameter.js";
import type { Transaction } from "../transactions/transaction.js";
import type { Columns } from "../wire/columns.js";
import { readTokenRow, TOKEN_COLUMNS, type TokenRowWithCvc, UNEXPIRED_CVC_SQL } from "./tokens.js";

/** A token that is larger than its reader has memory for. Its content stays in the database. */
export interface LargeToken {
  readonly id: string;
  /** Bytes of its sealed columns. */
  readonly sealedBytes: number;
}

export function isLargeToken(found: object): found is LargeToken {
  return "sealedBytes" in found;
}

/** A token to read, if its sealed columns have at most this many bytes. */
export interface BoundedRead {
  readonly id: string;
  readonly mostBytes: number;
}

/** The sealed bytes of a token `t`. PostgreSQL knows the length of a stored value without reading it. */
export const SEALED_BYTES = "octet_length(t.data) + coalesce(octet_length(t.attributes), 0)";

/** The columns of {@link readSizedRow}, from rows that have `sealed_bytes` and `most_bytes`. */
export const SIZED_COLUMNS = `
  id, type, case when sealed_bytes <= most_bytes then data else '' end,
  case when sealed_bytes <= most_bytes then attributes end, containers, fingerprint, dedupe_key, expires_at,
  expires_at_text, revision, active_month, created_by, created_at, modified_by, modified_at, cvc, sealed_bytes`;

/** A token's row. Its sealed columns are empty if they have more bytes than were asked for. */
export interface SizedRow {
  readonly row: TokenRowWithCvc;
  readonly sealedBytes: number;
}

/** Reads {@link SIZED_COLUMNS}. */
export function readSizedRow(column: Columns): SizedRow {
  return { row: readTokenRow(column), sealedBytes: column.integer() };
}

/** The rows, in the order of the reads. Reads of one token may ask for different sizes. */
export function bySize(
  rows: readonly (readonly SizedRow[])[],
  reads: readonly BoundedRead[],
): (TokenRowWithCvc | LargeToken | undefined)[] {
  const found = new Map<string, SizedRow>();
  for (const sized of rows.flat()) {
    const { row } = sized;
    if (row.data.length > 0 || !found.has(row.id)) found.set(row.id, sized);
  }
  return reads.map(({ id, mostBytes }) => {
    const sized = found.get(id);
    return sized && sized.sealedBytes > mostBytes ? { id, sealedBytes: sized.sealedBytes } : sized?.row;
  });
}

const FIND_BOUNDED_TOKEN = boundQuery<BoundedRead, TokenRowWithCvc | LargeToken | undefined, SizedRow>({
  table: "tokens",
  position: "first",
  kind: "read",
  sql: `
    select ${SIZED_COLUMNS} from (
      select ${TOKEN_COLUMNS}, ${UNEXPIRED_CVC_SQL}, wanted.most_bytes, ${SEALED_BYTES} as sealed_bytes
      from (values {(:id, :most_bytes)}) wanted (id, most_bytes)
      cross join lateral (select * from tokens where tenant_id = :tenant and tokens.id = wanted.id limit 1) t
      where t.expires_at is null or t.expires_at > :now
    ) found`,
  parameters: { id: text(({ id }) => id), most_bytes: integer(({ mostBytes }) => mostBytes) },
  sortKey: ({ id }) => id,
  row: readSizedRow,
  answers: bySize,
});

/** Finds an unexpired token by its id, and reads it unless it is too large. */
export function findBoundedToken(
  tx: Transaction,
  read: BoundedRead,
): Promise<TokenRowWithCvc | LargeToken | undefined> {
  return tx.query(FIND_BOUNDED_TOKEN, read);
}
