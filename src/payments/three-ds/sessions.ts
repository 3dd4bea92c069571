import { createHmac } from "node:crypto";
import { loggedActor } from "../../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../../access/caller-transaction.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../../audit/tenant-transaction.js";
import { DAY_MS } from "../../base/clock.js";
import { Fault, invalid, notFound } from "../../base/fault.js";
import { newUuid, type Uuid } from "../../base/ids.js";
import { isJsonObject, type JsonObject } from "../../base/json.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import { scheduleDue } from "../../store/jobs/due.js";
import {
  insertThreeDSSession,
  lockThreeDSSession,
  readThreeDSSession,
  updateThreeDSSession,
} from "../../store/payments/three-ds-sessions.js";
import { findToken } from "../../store/tokens/token-reads.js";
import { countMonthlyActivity } from "../../tokens/activity.js";
import { openToken } from "../../tokens/sealing.js";
import { cardBrand } from "../../tokens/types/card-brand.js";
import { type DirectoryVerdict, STATUS_CODES, type ThreeDSDirectory } from "./directory.js";
import { type Authentication, authenticatedCard, openSession, sealSession, type ThreeDSSession } from "./session.js";

/** A session works for a day; a payment uses it once. */
const LIFETIME_MS = DAY_MS;

export interface SessionDraft {
  readonly tokenId: string;
  readonly type: "customer" | "merchant";
  readonly device: "browser" | "app";
  readonly deviceInfo: JsonObject | undefined;
}

export interface Purchase {
  readonly amount: number;
  /** Numeric ISO 4217. */
  readonly currency: string;
}

export type ChallengeChoice = "approve" | "fail" | "cancel";

export async function createThreeDSSession(
  tx: CallerTransaction,
  { tokenId, ...draft }: SessionDraft,
): Promise<ThreeDSSession> {
  const number = await readCardNumber(tx, tokenId);
  if (number === undefined) throw invalid("token_id", "must be the id of a card token that exists");
  const expiresAt = new Date(tx.now.getTime() + LIFETIME_MS);
  const session: ThreeDSSession = {
    id: newUuid(),
    tokenId,
    ...draft,
    cardBrand: cardBrand(number),
    createdBy: loggedActor(tx.caller).id,
    modifiedBy: undefined,
    modifiedAt: undefined,
    authentication: undefined,
    paymentId: undefined,
    revision: 1,
    expiresAt,
    createdAt: tx.now,
  };
  const { id } = session;
  tx.enqueue(insertThreeDSSession, {
    id,
    token_id: tokenId,
    record: sealSession(tx.keys, session),
    expires_at: expiresAt,
  });
  scheduleDue(tx, { kind: "three_ds_session", at: expiresAt });
  tx.log("three_ds_session", id, "create");
  return session;
}

export async function getSession(tx: CallerTransaction, id: Uuid): Promise<ThreeDSSession> {
  const session = await find(tx, id);
  if (!session) throw notFound("3DS session");
  tx.log("three_ds_session", id, "read");
  return session;
}

/** Asks the issuer, once per session. */
export async function authenticateSession(
  tx: OrdinaryCallerTransaction,
  directory: ThreeDSDirectory,
  id: Uuid,
  purchase: Purchase | undefined,
): Promise<ThreeDSSession> {
  const session = await lock(tx, id);
  if (!session) throw notFound("3DS session");
  if (session.authentication) throw new Fault("wrong_state", "The session was authenticated already.");
  const number = await readCardNumber(tx, session.tokenId);
  if (number === undefined) throw new Fault("wrong_state", "The session's token is gone.");
  const card = authenticatedCard(tx.keys, number);
  const authentication = authenticationResult(tx.keys, session, directory.authenticate(number), { card, purchase });
  const changed = { ...session, authentication, modifiedBy: loggedActor(tx.caller).id, modifiedAt: tx.now.getTime() };
  write(tx, changed);
  tx.log("three_ds_session", id, "authorize");
  return changed;
}

/** Ends a challenge by the cardholder's action. Returns the session after it; undefined if it has ended. */
export async function endChallenge(
  tx: OrdinaryTenantTransaction,
  directory: ThreeDSDirectory,
  id: Uuid,
  choice: ChallengeChoice,
): Promise<ThreeDSSession | undefined> {
  const session = await lock(tx, id);
  const before = session?.authentication;
  if (!session || before?.status !== "challenge") return session;
  const row = await findToken(tx, session.tokenId);
  const plain = row ? openToken(tx.keys, row).data.reveal() : null;
  const number = isJsonObject(plain) && typeof plain.number === "string" ? plain.number : "";
  const failed: DirectoryVerdict = { status: "failed", statusReason: "card-authentication-failed" };
  const isSameCard = before.card === authenticatedCard(tx.keys, number);
  const verdict = choice === "approve" && isSameCard ? directory.afterChallenge(number) : failed;
  const after = authenticationResult(tx.keys, session, verdict, { card: before.card, purchase: undefined });
  const authentication: Authentication = {
    ...after,
    challengeType: before.challengeType,
    challengeMandated: before.challengeMandated,
    wasChallenged: true,
    challengeAttempts: 1,
    challengeCancelReason: choice === "cancel" ? "cardholder-canceled" : undefined,
    amount: before.amount,
    currency: before.currency,
    acsTransactionId: before.acsTransactionId,
    dsTransactionId: before.dsTransactionId,
  };
  const changed = { ...session, authentication, modifiedAt: tx.now.getTime() };
  write(tx, changed);
  tx.log("three_ds_session", id, "update", "challenge");
  return changed;
}

export async function find(tx: TenantTransaction, id: Uuid): Promise<ThreeDSSession | undefined> {
  const row = await tx.query(readThreeDSSession, id);
  return row ? openSession(tx.keys, row) : undefined;
}

async function lock(tx: OrdinaryTenantTransaction, id: Uuid): Promise<ThreeDSSession | undefined> {
  const row = await lockThreeDSSession(tx, id);
  return row ? openSession(tx.keys, row) : undefined;
}

function write(tx: OrdinaryTenantTransaction, session: ThreeDSSession): void {
  const { id, paymentId } = session;
  const record = sealSession(tx.keys, session);
  tx.enqueue(updateThreeDSSession, { id, record, payment_id: paymentId ?? null });
}

function authenticationResult(
  keys: TenantKeys,
  { id, cardBrand: brand }: ThreeDSSession,
  { status, statusReason, challengeType, challengeMandated }: DirectoryVerdict,
  { card, purchase }: Pick<Authentication, "card"> & { readonly purchase: Purchase | undefined },
): Authentication {
  const isProven = status === "successful" || status === "attempted";
  const value = createHmac("sha256", keys.proof).update(`cloakroom/cavv/1 ${id}`).digest().subarray(0, 20);
  return {
    card,
    status,
    statusCode: STATUS_CODES[status],
    statusReason,
    acsTransactionId: newUuid(),
    dsTransactionId: newUuid(),
    authenticationValue: isProven ? value.toString("base64") : undefined,
    eci: eciOf(status, brand),
    challengeType,
    challengeMandated: challengeMandated ?? false,
    challengeAttempts: 0,
    challengeCancelReason: undefined,
    wasChallenged: false,
    amount: purchase?.amount,
    currency: purchase?.currency,
  };
}

/** Visa and most others count 05 (authenticated) and 06 (attempted); Mastercard counts 02 and 01. */
function eciOf(status: Authentication["status"], brand: string | undefined): string | undefined {
  const isMastercard = brand === "mastercard";
  if (status === "successful") return isMastercard ? "02" : "05";
  if (status === "attempted") return isMastercard ? "01" : "06";
  return status === "challenge" ? undefined : isMastercard ? "00" : "07";
}

/** Undefined if the token is not a card. The use of the token is logged. */
async function readCardNumber(tx: CallerTransaction, tokenId: string): Promise<string | undefined> {
  const row = await findToken(tx, tokenId);
  if (row?.type !== "card") return undefined;
  const plain = openToken(tx.keys, row).data.reveal();
  tx.log("card", tokenId, "use", { transform: "reveal" });
  await countMonthlyActivity(tx, tokenId, row.active_month);
  return isJsonObject(plain) && typeof plain.number === "string" ? plain.number : undefined;
}
