import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { BankDetails, CardDetails, Token } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { TokenView } from "../tokens/view.js";
import { showTypedData } from "./typed-data.js";
import { toValue } from "./value.js";

/** A token as the protos define it: whole messages, which no server copies before it writes them. */
export function showToken(view: TokenView): Token {
  const { data, card, bank, deduplicated } = view;
  const token: Token = {
    $typeName: "cloakroom.v1.Token",
    id: view.id,
    tenantId: view.tenantId,
    type: view.type,
    containers: [...view.containers],
    metadata: { ...view.metadata },
    searchIndexes: [...(view.searchIndexes ?? [])],
  };
  if (data !== undefined) {
    token.data = toValue(data);
    const { cardData, bankData } = showTypedData(view);
    if (cardData) token.cardData = cardData;
    if (bankData) token.bankData = bankData;
  }
  if (view.mask !== undefined) token.mask = toValue(view.mask);
  if (view.fingerprint !== undefined) token.fingerprint = view.fingerprint;
  if (view.fingerprintExpression !== undefined) token.fingerprintExpression = view.fingerprintExpression;
  if (view.expiresAt !== undefined) token.expiresAt = view.expiresAt;
  if (card) token.card = showCard(card);
  if (bank) token.bank = showBank(bank);
  if (view.createdBy) token.createdBy = view.createdBy;
  if (view.createdAt) token.createdAt = timestampFromDate(view.createdAt);
  if (view.modifiedBy) token.modifiedBy = view.modifiedBy;
  if (view.modifiedAt) token.modifiedAt = timestampFromDate(view.modifiedAt);
  if (deduplicated !== undefined) token.extras = { $typeName: "cloakroom.v1.TokenExtras", deduplicated };
  return token;
}

function showBank({ routing_number, account_number_last4: last4 }: NonNullable<TokenView["bank"]>): BankDetails {
  return {
    $typeName: "cloakroom.v1.BankDetails",
    routingNumber: routing_number,
    ...(last4 === undefined ? {} : { accountNumberLast4: last4 }),
  };
}

function showCard(card: NonNullable<TokenView["card"]>): CardDetails {
  const shown: CardDetails = { $typeName: "cloakroom.v1.CardDetails", bin: card.bin, last4: card.last4 };
  if (card.expiration_month !== undefined) shown.expirationMonth = card.expiration_month;
  if (card.expiration_year !== undefined) shown.expirationYear = card.expiration_year;
  if (card.brand !== undefined) shown.brand = card.brand;
  if (card.funding !== undefined) shown.funding = card.funding;
  return shown;
}
