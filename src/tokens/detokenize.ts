import type { Transform } from "../access/access-rule.js";
import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { storedPaths } from "../access/container.js";
import type { TokenPermission } from "../access/permissions.js";
import { denied, type LoggedEntity } from "../access/refusal.js";
import { mightNeedReason, requireReason } from "../access/reveal-reason.js";
import { logEntry } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { Fault, invalid } from "../base/fault.js";
import type { Json } from "../base/json.js";
import { isLarge, yieldToEventLoop } from "../base/yield-to-event-loop.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { findReferences, resolveReferences, type TokenLookup } from "../expressions/detokenization.js";
import { SharedBudget } from "../expressions/shared-budget.js";
import { MAX_READ_BYTES, tooManyBytes } from "../store/transactions/large-reads.js";
import { countMonthlyActivities } from "./activity.js";
import { loggedTokenType } from "./entity.js";
import type { ReadableToken } from "./read.js";
import { type FoundToken, findTokenRows, loadTokenRows, type ReadLimit } from "./read-rows.js";
import { openToken } from "./sealing.js";
import { ShownToken } from "./shown-token.js";
import type { BinTable } from "./types/bin-table.js";
import { tokenType } from "./types/registry.js";

/** Maximum number of tokens that one request may refer to. */
export const MAX_REFERENCES = 100;

export function referencedTokens(body: Json, root: string): string[] {
  const ids = findReferences(body, { root }).map(({ tokenId }) => tokenId);
  if (ids.length > MAX_REFERENCES)
    throw invalid(root, `must refer to at most ${MAX_REFERENCES} tokens; it refers to ${ids.length}`);
  return ids;
}

/** Whether the caller sees what is made of the tokens. Also the operation of their log rows. */
export type TokenUse = "read" | "use";

/** Finds all tokens that a request refers to, or fails as a whole. Each token leaves a log row. */
export async function findTokens(
  tx: CallerTransaction,
  ids: readonly string[],
  use: TokenUse,
): Promise<ReadonlyMap<string, ReadableToken>> {
  const found = await findTokensAs(tx, [tx.caller], ids, use);
  if ("denied" in found) throw denied(tx.caller, `token:${use}`, found.denied.type, found.denied.id);
  return found.tokens;
}

/** The tokens found, and the caller whose rights cover all of them. */
export interface GrantedTokens {
  readonly caller: Caller;
  readonly tokens: ReadonlyMap<string, ReadableToken>;
}

/** A token that every caller was denied. */
export interface DeniedToken {
  readonly denied: LoggedEntity;
}

/**
 * Finds all tokens that a request refers to, with the rights of the first of several callers that may read all of them.
 * Each token leaves a log row of that caller.
 * @returns a refusal for tokens that do not exist; if every caller lacks a right, the first token that the last caller
 *   was denied.
 */
export async function findTokensAs(
  tx: TenantTransaction,
  callers: readonly [Caller, ...Caller[]],
  ids: readonly string[],
  use: TokenUse,
): Promise<GrantedTokens | DeniedToken> {
  const permission = `token:${use}` as const;
  const heads = await findTokenRows(tx, ids);
  const missing = ids.filter((_, index) => !heads[index]);
  if (missing.length > 0) throw unknownTokens(missing);
  // Before the limit of bytes: its refusal tells how large the tokens are.
  const early = firstGranted(callers, heads, permission);
  if ("denied" in early) return early;
  const rows = await loadTokenRows(tx, heads, REFERENCE_LIMIT);
  // A large token was read again, and may be in other containers by then.
  const granted = rows === heads ? early : firstGranted(callers, rows, permission);
  if ("denied" in granted) return granted;
  const { caller, transforms } = granted;
  const actor = loggedActor(caller);
  const mightAsk = mightNeedReason(caller, permission);
  const tokens = new Map<string, ReadableToken>();
  for (const [index, row] of rows.entries()) {
    const transform = transforms[index];
    if (!row || !transform || tokens.has(row.id)) continue;
    const entityType = loggedTokenType(tokenType(row.type));
    if (mightAsk) {
      const containers = storedPaths(row.containers);
      requireReason(caller, permission, transform, { id: row.id, containers, entityType });
    }
    tx.record(logEntry(entityType, row.id, use, { actor, transform }));
    tokens.set(row.id, { row, transform });
  }
  await countMonthlyActivities(
    tx,
    Array.from(tokens.values(), ({ row }) => row),
  );
  return { caller, tokens };
}

/** What the first caller with the rights may see of each token. */
interface Granted {
  readonly caller: Caller;
  /** In the order of the tokens. Undefined: none was found. */
  readonly transforms: readonly (Transform | undefined)[];
}

function firstGranted(
  [caller, ...others]: readonly [Caller, ...Caller[]],
  rows: readonly FoundToken[],
  permission: TokenPermission,
): Granted | DeniedToken {
  const transforms = rows.map(
    (row) => row && caller.grant.transformFor(permission, { id: row.id, containers: storedPaths(row.containers) }),
  );
  const refused = rows.find((row, index) => row && !transforms[index]);
  if (!refused) return { caller, transforms };
  const [next, ...rest] = others;
  return next
    ? firstGranted([next, ...rest], rows, permission)
    : { denied: { type: loggedTokenType(tokenType(refused.type)), id: refused.id } };
}

/** Replaces the references in the body by what the caller may see. A redacted token gives null. */
export function detokenize(body: Json, root: string, lookup: TokenLookup): Json {
  return resolveReferences(body, lookup, { root });
}

/** The tokens as the caller's expressions see them. Opens large tokens now, and yields to other requests in between. */
export async function openTokens(
  keys: TenantKeys,
  tokens: ReadonlyMap<string, ReadableToken>,
  bins?: BinTable,
): Promise<TokenLookup> {
  const lookup = tokenLookup(keys, tokens, bins);
  for (const { row } of tokens.values()) {
    if (!isLarge(row.data.length)) continue;
    lookup(row.id);
    await yieldToEventLoop(row.data.length);
  }
  return lookup;
}

/** Opens each token at its first use. */
function tokenLookup(
  keys: TenantKeys,
  tokens: ReadonlyMap<string, ReadableToken>,
  bins: BinTable | undefined,
): TokenLookup {
  const opened = new Map<string, ShownToken>();
  const budget = new SharedBudget();
  return (id) => {
    const readable = tokens.get(id);
    if (!readable) return undefined;
    const known = opened.get(id);
    if (known) return known;
    const token = openToken(keys, readable.row);
    const shown = new ShownToken(keys.tenantId, token, readable.transform, { budget, bins });
    opened.set(id, shown);
    return shown;
  };
}

const REFERENCE_LIMIT: ReadLimit = { maxBytes: MAX_READ_BYTES, tooMany: tooManyBytes };

/** The message that published clients expect, see docs/proxies.md. */
function unknownTokens(ids: readonly string[]): Fault {
  return new Fault("validation_failed", `Failed to detokenize some tokens: ${ids.join(", ")}. Tokens were not found.`, {
    fields: {},
  });
}
