import { randomBytes } from "node:crypto";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import type { Uuid } from "../base/ids.js";
import { consumeSignInRequest, readSignInRequest } from "../store/people/sign-in-requests.js";
import { beginSignIn, openDetails } from "./sign-in-request.js";

/** How long a challenge can be met. */
const LIFETIME_MS = 5 * 60_000;

/** What a passkey is asked for, and by which sign-in, or which sign-in that waits for it. */
export interface Purpose {
  readonly of: "sign_in" | "check" | "registration";
  readonly subject: Uuid;
}

export function issueChallenge(tx: TenantTransaction, { of, subject }: Purpose) {
  const challenge = randomBytes(32).toString("base64url");
  const details = { of, subject, challenge };
  return { id: beginSignIn(tx, { method: "challenge", lifetimeMs: LIFETIME_MS }, details), challenge };
}

/** Uses up a challenge. Undefined: it is used, over, or was issued for something else. */
export async function consumeChallenge(
  tx: OrdinaryTenantTransaction,
  id: Uuid,
  { of, subject }: Purpose,
): Promise<string | undefined> {
  const row = await tx.query(readSignInRequest, id);
  if (row?.method !== "challenge") return undefined;
  const details = openDetails(tx.keys, row);
  if (details.of !== of || details.subject !== subject) return undefined;
  return (await tx.query(consumeSignInRequest, id)) ? String(details.challenge) : undefined;
}
