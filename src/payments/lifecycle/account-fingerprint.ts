import { hashFingerprint } from "../../crypto/keyed-hash.js";
import { Sensitive } from "../../crypto/sensitive.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { Connection } from "../connections/connection.js";
import { findProvider } from "../connections/providers.js";
import { connectionField } from "../connectors/fields.js";
import type { Card } from "../contract/card.js";
import type { LookUpOutcome } from "../contract/outcome.js";
import type { Provider } from "../contract/provider.js";
import type { Payment } from "./payment.js";

type FingerprintKeys = Pick<TenantKeys, "fingerprint">;

/** Identifies the account that a request was sent to: a keyed hash that does not reveal its fields. */
export function accountFingerprint(
  keys: FingerprintKeys,
  { formula, fields }: Pick<Connection, "formula" | "fields">,
): string {
  const provider = findProvider(formula.id);
  const selecting = selectingFields(provider, fields);
  const values = provider.accountFields.map((key) => connectionField({ fields: selecting }, key) ?? "");
  return hashFingerprint(keys.fingerprint, "payment account", JSON.stringify([formula.id, ...values])).toString(
    "base64",
  );
}

/**
 * The fields without those that make no difference: a mode that equals the default, or the live address of a test
 * connection.
 */
function selectingFields({ liveFields = [], modeOf }: Provider, fields: Connection["fields"]): Connection["fields"] {
  const mode = modeOf({ fields });
  const selecting = new Map(fields);
  selecting.delete("mode");
  if (mode === "test") for (const key of liveFields) selecting.delete(key);
  return modeOf({ fields: selecting }) === mode ? selecting : selecting.set("mode", new Sensitive(mode));
}

/** Identifies the card that was sent, by number and expiry: a keyed hash, never the number. */
export function cardFingerprint(keys: FingerprintKeys, { number, expirationMonth, expirationYear }: Card): string {
  const sent = JSON.stringify([number, expirationMonth, expirationYear]);
  return hashFingerprint(keys.fingerprint, "payment card", sent).toString("base64");
}

/** Whether the known state of a payment came from this account. */
export function isOfAccount(payment: Payment, account: string): boolean {
  const known = payment.attempt?.account ?? payment.account;
  return known === undefined || known === account;
}

/**
 * A look-up of a payment in what may be another account, or the same account with another key. Only a found payment
 * proves the same account; another account would report it as absent.
 */
export function trustedLookUp(payment: Payment, account: string, found: LookUpOutcome): LookUpOutcome {
  if (found.kind === "found" || found.kind === "unknown" || isOfAccount(payment, account)) return found;
  return { kind: "unknown", codes: { rawCode: "another_account" } };
}

export function withAccountFound(payment: Payment, account: string): Payment {
  return { ...withAccountSentTo(payment, account), account };
}

/** A payment whose operation under way was or will be sent to this account. */
export function withAccountSentTo(payment: Payment, account: string): Payment {
  const { attempt } = payment;
  return attempt ? { ...payment, attempt: { ...attempt, account } } : payment;
}
