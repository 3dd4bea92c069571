import type { Caller } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { withRevealGrant } from "../access/role-rights.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { BoundedRead, LargeToken } from "../store/tokens/token-reads.js";
import { type ReadToken, readToken, showReadable } from "./read.js";
import { type Showing, type TokenView, withoutCvc } from "./view.js";

/**
 * Finds a token for a person who wants its value in the clear, and writes the log row, with the reason.
 * @returns the size of a token that has more than `maxBytes` sealed bytes, which is neither read nor logged.
 * @throws {Fault} permission_denied unless the tenant's setting allows it; reason_required without a reason.
 */
export function readForReveal(tx: CallerTransaction, read: BoundedRead): Promise<ReadToken | LargeToken> {
  return readToken(tx.actingAs(withRevealGrant(tx.caller)), read);
}

/** Opens and shows it, without the verification code of a card. */
export function showRevealed(caller: Caller, keys: TenantKeys, found: ReadToken, showing: Showing): TokenView {
  return withoutCvc(showReadable(caller, keys, found, showing));
}
