import type { Uuid } from "../../base/ids.js";
import { boundQuery, boundWrite } from "../statements/bound-statement.js";
import { bytes, date, integer, text, texts, time, uuid } from "../statements/parameter.js";
import { writeRow } from "../statements/single-row.js";
import type { OrdinaryTransaction, Transaction } from "../transactions/transaction.js";
import type { Columns } from "../wire/columns.js";

export interface TokenRow {
  readonly id: string;
  readonly type: string;
  readonly data: Buffer;
  readonly attributes: Buffer | null;
  readonly containers: string[];
  readonly fingerprint: Buffer | null;
  readonly dedupe_key: Buffer | null;
  readonly expires_at: Date | null;
  readonly expires_at_text: string | null;
  readonly revision: number;
  /** The first day of the month in which the token was last active, YYYY-MM-DD. */
  readonly active_month: string;
  readonly created_by: Uuid;
  readonly created_at: Date;
  readonly modified_by: Uuid | null;
  readonly modified_at: Date | null;
}

/** A stored token with its card verification code, if that exists and has not expired. */
export interface TokenRowWithCvc extends TokenRow {
  readonly cvc: Buffer | null;
}

const NEW_ROW = {
  id: text<TokenRow>((token) => token.id),
  type: text<TokenRow>((token) => token.type),
  data: bytes<TokenRow>((token) => token.data),
  attributes: bytes<TokenRow>((token) => token.attributes),
  containers: texts<TokenRow>((token) => token.containers),
  fingerprint: bytes<TokenRow>((token) => token.fingerprint),
  dedupe_key: bytes<TokenRow>((token) => token.dedupe_key),
  expires_at: time<TokenRow>((token) => token.expires_at),
  expires_at_text: text<TokenRow>((token) => token.expires_at_text),
  revision: integer<TokenRow>((token) => token.revision),
  active_month: date<TokenRow>((token) => token.active_month),
  created_by: uuid<TokenRow>((token) => token.created_by),
  created_at: time<TokenRow>((token) => token.created_at),
};

const INSERT = `
  insert into tokens (tenant_id, id, type, data, attributes, containers, fingerprint, dedupe_key, expires_at, expires_at_text,
    revision, active_month, created_by, created_at)
  values {(:tenant, :id, :type, :data, :attributes, :containers, :fingerprint, :dedupe_key, :expires_at, :expires_at_text,
    :revision, :active_month, :created_by, :created_at)}`;

/** Stores a token with a generated id, which cannot be taken. */
export const insertToken = boundWrite<TokenRow>({
  table: "tokens",
  sql: INSERT,
  parameters: NEW_ROW,
});

/** Stores a token unless its id or its dedupe key is taken. Returns whether it was stored. */
export const insertTokenIfFree = boundQuery<TokenRow, boolean, TokenClaim>({
  table: "tokens",
  kind: "write",
  hasWritten: (isStored) => isStored,
  sql: `${INSERT} on conflict do nothing returning id, dedupe_key`,
  parameters: NEW_ROW,
  sortKey: ({ dedupe_key, id }) => claimOf(id, dedupe_key),
  row: (column) => ({ id: column.text(), dedupeKey: column.bytesOrNull() }),
  outputs(rows, tokens) {
    // Of tokens with the same id at most one was inserted. It need not be the first of them, whose dedupe key may be
    // taken. Of those with the same id and dedupe key it is the first.
    const free = new Set(rows.flat().map(({ id, dedupeKey }) => claimOf(id, dedupeKey)));
    return tokens.map(({ id, dedupe_key }) => free.delete(claimOf(id, dedupe_key)));
  },
});

function claimOf(id: string, dedupeKey: Buffer | null): string {
  return `${dedupeKey?.toString("hex") ?? ""} ${id}`;
}

/** The columns of a token `t` that {@link readTokenRow} reads. */
export const TOKEN_COLUMNS = `t.id, t.type, t.data, t.attributes, t.containers, t.fingerprint, t.dedupe_key, t.expires_at, t.expires_at_text,
  t.revision, t.active_month::text as active_month, t.created_by, t.created_at, t.modified_by, t.modified_at`;

export function readTokenRow(column: Columns): TokenRow {
  return {
    id: column.text(),
    type: column.text(),
    data: column.bytes(),
    attributes: column.bytesOrNull(),
    containers: column.texts(),
    fingerprint: column.bytesOrNull(),
    dedupe_key: column.bytesOrNull(),
    expires_at: column.timeOrNull(),
    expires_at_text: column.textOrNull(),
    revision: column.integer(),
    active_month: column.text(),
    created_by: column.uuid(),
    created_at: column.time(),
    modified_by: column.uuidOrNull(),
    modified_at: column.timeOrNull(),
  };
}

export interface TokenClaim {
  readonly id: string;
  readonly dedupeKey: Buffer | null;
}

export interface TokenVersion {
  readonly id: string;
  readonly revision: number;
}

/** Deletes a token's row unless it was changed since it was read. Returns whether it was deleted. */
export const deleteTokenRow = writeRow<TokenVersion>({
  table: "tokens",
  hasWritten: (isDeleted) => isDeleted,
  sql: "delete from tokens where tenant_id = :tenant and id = :id and revision = :revision returning 1",
  parameters: { id: text(({ id }) => id), revision: integer(({ revision }) => revision) },
});

/**
 * The same for a token that has expired by the server's clock, if it has by the database's too: a clock that is fast
 * must not delete for good what it only hides.
 */
export const deleteExpiredTokenRow = writeRow<TokenVersion>({
  table: "tokens",
  hasWritten: (isDeleted) => isDeleted,
  sql: `
    delete from tokens
    where tenant_id = :tenant and id = :id and revision = :revision and expires_at <= now() returning 1`,
  parameters: { id: text(({ id }) => id), revision: integer(({ revision }) => revision) },
});

const MARK_ACTIVE = writeRow<{ readonly id: string; readonly month: string }>({
  table: "tokens",
  sql: `
    update tokens set active_month = :month
    where tenant_id = :tenant and id = :id and active_month < :month returning 1`,
  parameters: { id: text(({ id }) => id), month: date(({ month }) => month) },
});

/**
 * Records the month of a token's activity, as its first day.
 * @returns whether it was the first activity in that month.
 */
export function markTokenActive(tx: Transaction, id: string, month: string): Promise<boolean> {
  return tx.query(MARK_ACTIVE, { id, month });
}

export interface TokenChange
  extends Pick<
    TokenRow,
    "id" | "data" | "attributes" | "fingerprint" | "dedupe_key" | "expires_at" | "expires_at_text"
  > {
  readonly containers: readonly string[];
  readonly modified_by: Uuid;
}

const UPDATE_TOKEN = boundWrite<TokenChange>({
  table: "tokens",
  sql: `
    update tokens set data = :data, attributes = :attributes, containers = :containers, fingerprint = :fingerprint,
      dedupe_key = :dedupe_key, expires_at = :expires_at, expires_at_text = :expires_at_text, modified_by = :modified_by,
      modified_at = :now, revision = revision + 1
    where tenant_id = :tenant and id = :id`,
  parameters: {
    id: text((change) => change.id),
    data: bytes((change) => change.data),
    attributes: bytes((change) => change.attributes),
    containers: texts((change) => change.containers),
    fingerprint: bytes((change) => change.fingerprint),
    dedupe_key: bytes((change) => change.dedupe_key),
    expires_at: time((change) => change.expires_at),
    expires_at_text: text((change) => change.expires_at_text),
    modified_by: uuid((change) => change.modified_by),
  },
});

export function updateTokenRow(tx: OrdinaryTransaction, change: TokenChange): void {
  tx.enqueue(UPDATE_TOKEN, change);
}
