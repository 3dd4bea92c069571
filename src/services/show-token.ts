import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { BankDetails, CardDetails, Token } from "../../gen/cloakroom/v1/tokens_pb.js";
import type { TokenView } from "../tokens/view.js";
import { showTypedData } from "./typed-data.js";
import { toValue } from "./value.js";

/** A token as the protos define it: whole messages, which no server copies before it writes them. */
export function showToken(view: TokenView): Token {
  const { card, bank, deduplicated } = view;
  return {
    $typeName: "cloakroom.v1.Token",
    id: view.id,
    tenantId: view.tenantId,
    type: view.type,
    ...(view.data === undefined ? {} : { data: toValue(view.data), ...showTypedData(view) }),
    ...(view.mask === undefined ? {} : { mask: toValue(view.mask) }),
    ...(view.fingerprint === undefined ? {} : { fingerprint: view.fingerprint }),
    ...(view.fingerprintExpression === undefined ? {} : { fingerprintExpression: view.fingerprintExpression }),
    containers: [...view.containers],
    metadata: { ...view.metadata },
    searchIndexes: [...(view.searchIndexes ?? [])],
    ...(view.expiresAt === undefined ? {} : { expiresAt: view.expiresAt }),
    ...(card ? { card: showCard(card) } : {}),
    ...(bank ? { bank: showBank(bank) } : {}),
    ...(view.createdBy ? { createdBy: view.createdBy } : {}),
    ...(view.createdAt ? { createdAt: timestampFromDate(view.createdAt) } : {}),
    ...(view.modifiedBy ? { modifiedBy: view.modifiedBy } : {}),
    ...(view.modifiedAt ? { modifiedAt: timestampFromDate(view.modifiedAt) } : {}),
    ...(deduplicated === undefined ? {} : { extras: { $typeName: "cloakroom.v1.TokenExtras" as const, deduplicated } }),
  };
}

function showBank({ routing_number, account_number_last4: last4 }: NonNullable<TokenView["bank"]>): BankDetails {
  return {
    $typeName: "cloakroom.v1.BankDetails",
    routingNumber: routing_number,
    ...(last4 === undefined ? {} : { accountNumberLast4: last4 }),
  };
}

function showCard(card: NonNullable<TokenView["card"]>): CardDetails {
  return {
    $typeName: "cloakroom.v1.CardDetails",
    bin: card.bin,
    last4: card.last4,
    ...(card.expiration_month === undefined ? {} : { expirationMonth: card.expiration_month }),
    ...(card.expiration_year === undefined ? {} : { expirationYear: card.expiration_year }),
    ...(card.brand === undefined ? {} : { brand: card.brand }),
    ...(card.funding === undefined ? {} : { funding: card.funding }),
  };
}
