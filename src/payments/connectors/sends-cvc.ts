import type { AuthorizationRequest } from "../contract/payment-request.js";

/** Whether the payment service receives a verification code. A merchant-initiated payment never sends one. */
export function sendsCvc({ card, isMerchantInitiated }: AuthorizationRequest): boolean {
  return card.reveal().cvc !== undefined && !isMerchantInitiated;
}
