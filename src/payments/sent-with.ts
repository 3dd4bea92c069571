import { fingerprintOf } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Card } from "./card.js";
import type { Connection } from "./connection.js";
import { adyenMode } from "./connectors/adyen/address.js";
import { checkoutcomMode } from "./connectors/checkoutcom/address.js";
import { fieldOf } from "./connectors/fields.js";
import type { FormulaId } from "./formulas.js";
import type { LookUpOutcome } from "./outcome.js";
import type { Payment } from "./payment.js";

/**
 * The fields that lead to an account of the payment service. Adyen and Authorize.net name the account apart from the
 * secret, which may be changed without leaving it; of Stripe and Checkout.com the secret is all that tells, so that another
 * one may be the same account's.
 */
const ACCOUNT_FIELDS: Readonly<Record<FormulaId, readonly string[]>> = {
  "simulator-card": ["merchant_id"],
  "stripe-card": ["secret_key", "stripe_account"],
  "adyen-card": ["merchant_account", "live_endpoint_prefix", "mode"],
  "checkoutcom-card": ["secret_key", "processing_channel_id", "api_prefix", "mode"],
  "authorizenet-card": ["merchant_account_id", "mode"],
};

type MarkKeys = Pick<TenantKeys, "fingerprint">;

/** Tells an account that something was sent to from others: a keyed hash, from which its fields cannot be found. */
export function accountMark(keys: MarkKeys, { formula, fields }: Pick<Connection, "formula" | "fields">): string {
  const leading = leadingOf(formula.id, fields);
  const values = ACCOUNT_FIELDS[formula.id].map((key) => fieldOf({ fields: leading }, key) ?? "");
  return fingerprintOf(keys.fingerprint, "payment account", JSON.stringify([formula.id, ...values])).toString("base64");
}

/** The fields without those that make no difference: a mode that holds anyway, or the live address of a test. */
function leadingOf(formulaId: FormulaId, fields: Connection["fields"]): Connection["fields"] {
  const mode = modeOf(formulaId, fields);
  const leading = new Map(fields);
  leading.delete("mode");
  if (mode === "test") leading.delete("live_endpoint_prefix");
  return modeOf(formulaId, leading) === mode ? leading : leading.set("mode", new Sensitive(mode));
}

/** Test or live, as the connector takes it. */
function modeOf(formulaId: FormulaId, fields: Connection["fields"]): string {
  if (formulaId === "adyen-card") return adyenMode({ fields });
  if (formulaId === "checkoutcom-card") return checkoutcomMode({ fields });
  return fieldOf({ fields }, "mode") ?? "test";
}

/** Tells a card that was sent from others, by number and expiry: a keyed hash, never the number. */
export function cardMark(keys: MarkKeys, { number, expirationMonth, expirationYear }: Card): string {
  const sent = JSON.stringify([number, expirationMonth, expirationYear]);
  return fingerprintOf(keys.fingerprint, "payment card", sent).toString("base64");
}

/** Whether what is known of a payment was learned from this account. */
export function isOfAccount({ account, attempt }: Payment, mark: string): boolean {
  const known = attempt?.account ?? account;
  return known === undefined || known === mark;
}

/**
 * What a look-up says of a payment that was sent to another account, or to the same one with another key. Only where the
 * payment is found it is the same one; another account knows nothing of it, and says so.
 */
export function believable(payment: Payment, mark: string, found: LookUpOutcome): LookUpOutcome {
  if (found.kind === "found" || found.kind === "unknown" || isOfAccount(payment, mark)) return found;
  return { kind: "unknown", codes: { rawCode: "another_account" } };
}

/** A payment that was found in this account, with its operation under way. */
export function foundIn(payment: Payment, mark: string): Payment {
  return { ...sentTo(payment, mark), account: mark };
}

/** A payment whose operation under way was or is about to be sent to this account. */
export function sentTo(payment: Payment, mark: string): Payment {
  const { attempt } = payment;
  return attempt ? { ...payment, attempt: { ...attempt, account: mark } } : payment;
}
