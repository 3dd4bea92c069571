import type { Sensitive } from "../../crypto/sensitive.js";

/** A card on its way from the vault to a payment service. Lives in memory for one call. */
export interface Card {
  readonly number: string;
  /** 1 to 12. */
  readonly expirationMonth: number;
  /** Four digits. */
  readonly expirationYear: number;
  readonly cvc: string | undefined;
}

export type SensitiveCard = Sensitive<Card>;

/** The expiry month as two digits, "03", as most payment services expect it. */
export function monthText({ expirationMonth }: Card): string {
  return String(expirationMonth).padStart(2, "0");
}
