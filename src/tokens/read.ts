import type { Transform } from "../access/access-rule.js";
import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { storedPaths } from "../access/container.js";
import { denied } from "../access/refusal.js";
import { mightNeedReason, requireReason } from "../access/reveal-reason.js";
import { logEntry } from "../audit/log-entry.js";
import { notFound } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import { isLarge, yieldToEventLoop } from "../base/yield-to-event-loop.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { canFindLogged, findTokenLogged, loggedTokenQuery } from "../store/audit/logged-reads.js";
import {
  type BoundedRead,
  findBoundedToken,
  isLargeToken,
  type LargeToken,
  SMALL_TOKEN_BYTES,
} from "../store/tokens/token-reads.js";
import type { TokenRowWithCvc } from "../store/tokens/tokens.js";
import { countMonthlyActivity, isFirstUse } from "./activity.js";
import { loggedTokenType } from "./entity.js";
import { openToken } from "./sealing.js";
import { tokenType, tokenTypes } from "./types/registry.js";
import { type Showing, type TokenView, viewInTurns, viewToken } from "./view.js";

/** A token that a caller may see, still sealed: it is opened after its log row is committed. */
export interface ReadableToken {
  readonly row: TokenRowWithCvc;
  readonly transform: Transform;
}

/** A token that was read, and whether this first use in the month still has to be stored. */
export interface ReadToken extends ReadableToken {
  readonly isFirstUse: boolean;
}

const LOGGED_READ = loggedTokenQuery(
  new Map(tokenTypes.map((type) => [type.name, logEntry(loggedTokenType(type), "", "read").message])),
);

/**
 * Finds a token for a caller, and writes a log row for the read or its denial. Reserves memory for a large one.
 * @returns the size of a token that has more than `maxBytes` sealed bytes, which is neither read nor logged.
 */
export async function readToken(tx: CallerTransaction, { id, maxBytes }: BoundedRead): Promise<ReadToken | LargeToken> {
  if (maxBytes > SMALL_TOKEN_BYTES) tx.reserve(maxBytes);
  const anyTransform =
    canFindLogged(tx) && !tx.listensTo("token.read") ? tx.caller.grant.transformForAny("token:read") : undefined;
  if (anyTransform && !(anyTransform === "reveal" && mightNeedReason(tx.caller, "token:read"))) {
    // The decision needs no data of the row, so one round trip finds the token, logs the read and commits.
    const row = await findTokenLogged(tx, LOGGED_READ, {
      id,
      maxBytes,
      logId: newUuid(),
      actor: loggedActor(tx.caller),
      context: tx.caller.context,
      transform: anyTransform,
    });
    if (!row) throw notFound("token");
    if (isLargeToken(row)) return row;
    return { row, transform: anyTransform, isFirstUse: isFirstUse(tx, row.active_month) };
  }
  const row = await tx.query(findBoundedToken, { id, maxBytes });
  if (!row) throw notFound("token");
  const entityType = loggedTokenType(tokenType(row.type));
  const target = { id, containers: storedPaths(row.containers) };
  const transform = tx.caller.grant.transformFor("token:read", target);
  if (!transform) throw denied(tx.caller, "token:read", entityType, id);
  requireReason(tx.caller, "token:read", transform, { ...target, entityType });
  if (isLargeToken(row)) return row;
  tx.log(entityType, id, "read", { transform });
  await countMonthlyActivity(tx, id, row.active_month);
  return { row, transform, isFirstUse: false };
}

/** Whether {@link showReadable} takes one short step: no expression of the token is evaluated. */
export function opensAtOnce({ row, transform }: ReadableToken): boolean {
  return transform !== "mask" && !isLarge(row.data.length);
}

export function showReadable(
  caller: Caller,
  keys: TenantKeys,
  { row, transform }: ReadableToken,
  showing: Showing,
): TokenView {
  return viewToken(caller.tenantId, openToken(keys, row), transform, showing);
}

/** {@link showReadable}, in several turns of the event loop for a large token. */
export async function openReadable(
  caller: Caller,
  keys: TenantKeys,
  { row, transform }: ReadableToken,
  showing: Showing,
): Promise<TokenView> {
  const token = openToken(keys, row);
  if (isLarge(row.data.length)) await yieldToEventLoop(row.data.length);
  return viewInTurns(caller.tenantId, token, transform, showing);
}
