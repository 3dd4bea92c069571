import type { Sensitive } from "../crypto/sensitive.js";

/** A card as it goes from the vault to a payment service: in memory, for the length of one call. */
export interface Card {
  readonly number: string;
  /** 1 to 12. */
  readonly expirationMonth: number;
  /** Four digits. */
  readonly expirationYear: number;
  readonly cvc: string | undefined;
}

export type SensitiveCard = Sensitive<Card>;

/** The expiry month as two digits, "03": most payment services want it so. */
export function monthText({ expirationMonth }: Card): string {
  return String(expirationMonth).padStart(2, "0");
}
