import { boundQuery } from "../statements/bound-statement.js";
import { bytes, integer, text } from "../statements/parameter.js";
import { lockedRead } from "../transactions/row-lock.js";
import type { OrdinaryTransaction, Transaction } from "../transactions/transaction.js";
import type { Columns } from "../wire/columns.js";
import { readTokenRow, TOKEN_COLUMNS, type TokenClaim, type TokenRow, type TokenRowWithCvc } from "./tokens.js";

/** Sealed bytes of a token that is read without reserving memory for it. */
export const SMALL_TOKEN_BYTES = 64 * 1024;

export type TokenHead = Omit<TokenRow, "data" | "attributes">;

/** A token that has more sealed bytes than its reader asked for. They stay in the database. */
export interface LargeToken extends TokenHead {
  /** Bytes of its sealed columns. */
  readonly sealedBytes: number;
}

export function isLargeToken(found: object): found is LargeToken {
  return "sealedBytes" in found;
}

/** A token to read, if its sealed columns have at most this many bytes. */
export interface BoundedRead {
  readonly id: string;
  readonly maxBytes: number;
}

/**
 * The token's unexpired code, looked up for each token. A join scanned all codes of the tenant's last hour (10 ms for
 * 38,000).
 */
const UNEXPIRED_CVC_SQL = `(
  select c.code from token_cvc c
  where c.tenant_id = :tenant and c.token_id = t.id and (c.due_at > :now) is true limit 1
) as cvc`;

/** Columns of a token `t`. PostgreSQL knows the length of a stored value without reading it. */
const FOUND_COLUMNS = `
  ${TOKEN_COLUMNS}, ${UNEXPIRED_CVC_SQL}, octet_length(t.data) + coalesce(octet_length(t.attributes), 0) as sealed_bytes`;

/** The columns of {@link readSizedRow}, from {@link wantedTokens}. */
export const SIZED_COLUMNS = `
  id, type, case when sealed_bytes <= max_bytes then data else '' end,
  case when sealed_bytes <= max_bytes then attributes end, containers, fingerprint, dedupe_key, expires_at,
  expires_at_text, revision, active_month, created_by, created_at, modified_by, modified_at, cvc, sealed_bytes`;

/**
 * Selects unexpired tokens for inputs with `id`, `max_bytes` and other columns. Looks up each id separately: PostgreSQL
 * estimates an array of ids at ten rows, and plans it again at each execution.
 */
export function wantedTokens(others: readonly string[] = []): string {
  const added = ["max_bytes", ...others];
  const wanted = ["id", ...added];
  return `
    select ${FOUND_COLUMNS}, ${added.map((name) => `wanted.${name}`).join(", ")}
    from (values {(${wanted.map((name) => `:${name}`).join(", ")})}) wanted (${wanted.join(", ")})
    cross join lateral (select * from tokens where tenant_id = :tenant and tokens.id = wanted.id limit 1) t
    where t.expires_at is null or t.expires_at > :now`;
}

/** A token's row. Its sealed columns are empty if they have more bytes than were asked for. */
export interface SizedRow {
  readonly row: TokenRowWithCvc;
  readonly sealedBytes: number;
}

export function readSizedRow(column: Columns): SizedRow {
  const row = Object.assign(readTokenRow(column), { cvc: column.bytesOrNull() });
  return { row, sealedBytes: column.integer() };
}

function sized({ row, sealedBytes }: SizedRow, maxBytes: number): TokenRowWithCvc | LargeToken {
  if (sealedBytes <= maxBytes) return row;
  const { data: _, attributes: __, cvc: ___, ...head } = row;
  return { ...head, sealedBytes };
}

export function bySize(
  rows: readonly (readonly SizedRow[])[],
  reads: readonly BoundedRead[],
): (TokenRowWithCvc | LargeToken | undefined)[] {
  const found = new Map<string, SizedRow>();
  for (const one of rows.flat()) {
    const { row } = one;
    if (row.data.length > 0 || !found.has(row.id)) found.set(row.id, one);
  }
  return reads.map(({ id, maxBytes }) => {
    const one = found.get(id);
    return one && sized(one, maxBytes);
  });
}

/** Finds an unexpired token by its id, and reads it unless it is too large. */
export const findBoundedToken = boundQuery<BoundedRead, TokenRowWithCvc | LargeToken | undefined, SizedRow>({
  table: "tokens",
  position: "first",
  kind: "read",
  sql: `select ${SIZED_COLUMNS} from (${wantedTokens()}) found`,
  parameters: { id: text(({ id }) => id), max_bytes: integer(({ maxBytes }) => maxBytes) },
  row: readSizedRow,
  outputs: bySize,
});

export function findTokenHead(tx: Transaction, id: string): Promise<TokenHead | undefined> {
  return tx.query(findBoundedToken, { id, maxBytes: 0 });
}

/** Finds an unexpired token by its id. Reserves memory before it reads a large one. @throws {MemoryNeeded} */
export async function findToken(tx: Transaction, id: string): Promise<TokenRowWithCvc | undefined> {
  return wholeToken(tx, await tx.query(findBoundedToken, { id, maxBytes: SMALL_TOKEN_BYTES }));
}

const lockBounded = lockedRead("tokens", { id: text(({ id }: BoundedRead) => id) }, findBoundedToken);

/** The same, and locks its row until the transaction ends. */
export async function lockToken(tx: OrdinaryTransaction, id: string): Promise<TokenRowWithCvc | undefined> {
  return wholeToken(tx, await lockBounded(tx, { id, maxBytes: SMALL_TOKEN_BYTES }));
}

async function wholeToken(
  tx: Transaction,
  found: TokenRowWithCvc | LargeToken | undefined,
): Promise<TokenRowWithCvc | undefined> {
  let token = found;
  // It may grow between two reads.
  while (token && isLargeToken(token)) {
    const { id, sealedBytes: maxBytes } = token;
    tx.reserve(maxBytes);
    token = await tx.query(findBoundedToken, { id, maxBytes });
  }
  return token;
}

interface BoundedClaim extends TokenClaim {
  readonly maxBytes: number;
}

const FIND_CONFLICTING_TOKENS = boundQuery<BoundedClaim, readonly (TokenRowWithCvc | LargeToken)[], SizedRow>({
  table: "tokens",
  position: "first",
  kind: "read",
  sql: `
    select ${SIZED_COLUMNS} from (
      select ${FOUND_COLUMNS}, :max_bytes as max_bytes
      from tokens t where t.tenant_id = :tenant and (t.id = :id or t.dedupe_key = :dedupe_key)
    ) found`,
  parameters: {
    id: text(({ id }) => id),
    dedupe_key: bytes(({ dedupeKey }) => dedupeKey),
    max_bytes: integer(({ maxBytes }) => maxBytes),
  },
  row: readSizedRow,
  outputs: (rows, claims) => rows.map((found, index) => found.map((one) => sized(one, claims[index]?.maxBytes ?? 0))),
});

/**
 * Finds the tokens that hold an id or a dedupe key, including expired ones. Reserves memory before it reads large ones.
 * @throws {MemoryNeeded}
 */
export async function findConflictingTokens(tx: Transaction, claim: TokenClaim): Promise<readonly TokenRowWithCvc[]> {
  let maxBytes = SMALL_TOKEN_BYTES;
  for (;;) {
    const found = await tx.query(FIND_CONFLICTING_TOKENS, { ...claim, maxBytes });
    const large = found.filter(isLargeToken);
    if (large.length === 0) return found.flatMap((token) => (isLargeToken(token) ? [] : token));
    for (const { sealedBytes } of large) tx.reserve(sealedBytes);
    maxBytes = Math.max(...large.map(({ sealedBytes }) => sealedBytes));
  }
}

interface ExpiredBatch {
  readonly limit: number;
  readonly maxBytes: number;
}

const LIST_EXPIRED_TOKENS = boundQuery<ExpiredBatch, readonly (TokenRowWithCvc | LargeToken)[], SizedRow>({
  table: "tokens",
  kind: "read",
  sql: `
    select ${SIZED_COLUMNS} from (
      select ${FOUND_COLUMNS}, :max_bytes as max_bytes
      from tokens t where t.tenant_id = :tenant and t.expires_at <= :now order by t.expires_at limit :limit
    ) found`,
  parameters: { limit: integer(({ limit }) => limit), max_bytes: integer(({ maxBytes }) => maxBytes) },
  row: readSizedRow,
  outputs: (rows, batches) => rows.map((found, index) => found.map((one) => sized(one, batches[index]?.maxBytes ?? 0))),
});

/** Expired tokens, longest expired first. Large ones are not read. */
export function listExpiredTokens(tx: Transaction, limit: number): Promise<readonly (TokenRowWithCvc | LargeToken)[]> {
  return tx.query(LIST_EXPIRED_TOKENS, { limit, maxBytes: SMALL_TOKEN_BYTES });
}

/** Reads an expired token of any size. */
export const readExpiredToken = boundQuery<string, TokenRow | undefined, TokenRow>({
  table: "tokens",
  kind: "read",
  sql: `select ${TOKEN_COLUMNS} from tokens t where t.tenant_id = :tenant and t.id = :id and t.expires_at <= :now`,
  parameters: { id: text((id) => id) },
  row: readTokenRow,
  outputs: (rows) => rows.map(([row]) => row),
});
