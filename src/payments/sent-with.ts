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
 * The fields that identify an account of the payment service. Adyen and Authorize.net name the account apart from the
 * secret, which may change within an account. Stripe and Checkout.com identify it by the secret alone, so a different
 * secret may belong to the same account.
 */
const ACCOUNT_FIELDS: Readonly<Record<FormulaId, readonly string[]>> = {
  "simulator-card": ["merchant_id"],
  "stripe-card": ["secret_key", "stripe_account"],
  "adyen-card": ["merchant_account", "live_endpoint_prefix", "mode"],
  "checkoutcom-card": ["secret_key", "processing_channel_id", "api_prefix", "mode"],
  "authorizenet-card": ["merchant_account_id", "mode"],
};

type MarkKeys = Pick<TenantKeys, "fingerprint">;

/** Identifies the account that a request was sent to: a keyed hash that does not reveal its fields. */
export function accountMark(keys: MarkKeys, { formula, fields }: Pick<Connection, "formula" | "fields">): string {
  const leading = leadingOf(formula.id, fields);
  const values = ACCOUNT_FIELDS[formula.id].map((key) => fieldOf({ fields: leading }, key) ?? "");
  return fingerprintOf(keys.fingerprint, "payment account", JSON.stringify([formula.id, ...values])).toString("base64");
}

/**
 * The fields without those that make no difference: a mode that equals the default, or the live address of a test
 * connection.
 */
function leadingOf(formulaId: FormulaId, fields: Connection["fields"]): Connection["fields"] {
  const mode = modeOf(formulaId, fields);
  const leading = new Map(fields);
  leading.delete("mode");
  if (mode === "test") leading.delete("live_endpoint_prefix");
  return modeOf(formulaId, leading) === mode ? leading : leading.set("mode", new Sensitive(mode));
}

/** Test or live, as the connector reads it. */
function modeOf(formulaId: FormulaId, fields: Connection["fields"]): string {
  if (formulaId === "adyen-card") return adyenMode({ fields });
  if (formulaId === "checkoutcom-card") return checkoutcomMode({ fields });
  return fieldOf({ fields }, "mode") ?? "test";
}

/** Identifies the card that was sent, by number and expiry: a keyed hash, never the number. */
export function cardMark(keys: MarkKeys, { number, expirationMonth, expirationYear }: Card): string {
  const sent = JSON.stringify([number, expirationMonth, expirationYear]);
  return fingerprintOf(keys.fingerprint, "payment card", sent).toString("base64");
}

/** Whether the known state of a payment came from this account. */
export function isOfAccount({ account, attempt }: Payment, mark: string): boolean {
  const known = attempt?.account ?? account;
  return known === undefined || known === mark;
}

/**
 * A look-up of a payment in what may be another account, or the same account with another key. Only a found payment
 * proves the same account; another account would report it as absent.
 */
export function believable(payment: Payment, mark: string, found: LookUpOutcome): LookUpOutcome {
  if (found.kind === "found" || found.kind === "unknown" || isOfAccount(payment, mark)) return found;
  return { kind: "unknown", codes: { rawCode: "another_account" } };
}

/** A payment found in this account, with its operation under way. */
export function foundIn(payment: Payment, mark: string): Payment {
  return { ...sentTo(payment, mark), account: mark };
}

/** A payment whose operation under way was or will be sent to this account. */
export function sentTo(payment: Payment, mark: string): Payment {
  const { attempt } = payment;
  return attempt ? { ...payment, attempt: { ...attempt, account: mark } } : payment;
}
