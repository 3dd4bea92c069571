import type { Uuid } from "../../base/ids.js";
import { boundQuery } from "../statements/bound-statement.js";
import { integer, text, uuid } from "../statements/parameter.js";
import type { Statement } from "../statements/statement-batch.js";
import {
  type BoundedRead,
  bySize,
  type LargeToken,
  readSizedRow,
  SIZED_COLUMNS,
  type SizedRow,
  wantedTokens,
} from "../tokens/token-reads.js";
import type { TokenRowWithCvc } from "../tokens/tokens.js";
import type { Transaction } from "../transactions/transaction.js";
import { expectLogRows, LOGGED_REQUEST, type LoggedBy } from "./audit-logs.js";

export interface LoggedRead extends LoggedBy, BoundedRead {
  readonly logId: Uuid;
  readonly transform: string;
}

export type LoggedTokenQuery = Statement<LoggedRead, TokenRowWithCvc | LargeToken | undefined>;

/**
 * Makes a statement that finds tokens and logs the reads at once. It writes no row for a token that it does not find, or
 * that is too large to read.
 * @param messages fixed log messages by token type.
 */
export function loggedTokenQuery(messages: ReadonlyMap<string, string>): LoggedTokenQuery {
  const message = [...messages]
    .map(([type, words]) => `when '${type}' then '${words.replaceAll("'", "''")}'`)
    .join(" ");
  const requestColumns = Object.keys(LOGGED_REQUEST);
  const request = requestColumns.join(", ");
  return boundQuery<LoggedRead, TokenRowWithCvc | LargeToken | undefined, SizedRow>({
    table: "tokens",
    position: "first",
    kind: "write",
    sql: `
      with found as materialized (
        ${wantedTokens(["log_id", "transform", ...requestColumns])}
      ), logged as (
        insert into audit_logs (
          tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome, transform, ${request}
        )
        select :tenant, :now, log_id, type, id, 'read', case type ${message} end, 'allowed', transform, ${request}
        from found where sealed_bytes <= max_bytes
      )
      select ${SIZED_COLUMNS} from found`,
    parameters: {
      id: text(({ id }) => id),
      max_bytes: integer(({ maxBytes }) => maxBytes),
      log_id: uuid(({ logId }) => logId),
      transform: text(({ transform }) => transform),
      ...LOGGED_REQUEST,
    },
    row: readSizedRow,
    outputs: bySize,
  });
}

/**
 * Whether the engine supports {@link findTokenLogged}. Citus (13.0.5, coordinator and two workers) refuses rows that a
 * select inserts into a table with row-level security: "COPY FROM not supported".
 */
export function canFindLogged({ engine }: Transaction): boolean {
  return engine === "postgresql";
}

/** Finds a token and logs the read unless it is too large, in one trip if the transaction has no other query. */
export function findTokenLogged(
  tx: Transaction,
  query: LoggedTokenQuery,
  read: LoggedRead,
): Promise<TokenRowWithCvc | LargeToken | undefined> {
  expectLogRows(tx);
  return tx.queryLast(query, read);
}
