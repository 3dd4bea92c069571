import type { BankData, CardData } from "../../gen/cloakroom/v1/tokens_pb.js";
import { isJsonObject, type Json, type JsonObject } from "../base/json.js";
import type { TypedDataField } from "../tokens/data-field.js";
import type { TokenView } from "../tokens/view.js";

/** The fields of a request that hold data in a message of its own. */
interface TypedRequest {
  readonly cardData?: CardData | undefined;
  readonly bankData?: BankData | undefined;
}

interface TypedData {
  readonly data: JsonObject;
  readonly dataField: TypedDataField;
}

/** The data that a request holds in a message of its own: the fields that are set. */
export function readTypedData({ cardData, bankData }: TypedRequest): TypedData | undefined {
  if (cardData) return { data: cardJson(cardData), dataField: "card_data" };
  return bankData && { data: bankJson(bankData), dataField: "bank_data" };
}

function cardJson({ number, expirationMonth, expirationYear, cvc }: CardData): JsonObject {
  return {
    ...(number === undefined ? {} : { number }),
    ...(expirationMonth === undefined ? {} : { expiration_month: expirationMonth }),
    ...(expirationYear === undefined ? {} : { expiration_year: expirationYear }),
    ...(cvc === undefined ? {} : { cvc }),
  };
}

function bankJson({ routingNumber, accountNumber }: BankData): JsonObject {
  return {
    ...(routingNumber === undefined ? {} : { routing_number: routingNumber }),
    ...(accountNumber === undefined ? {} : { account_number: accountNumber }),
  };
}

/** A token's data as a message of its type. What the message cannot hold, because a mask changed it, is left out. */
export function showTypedData({ type, data }: TokenView): { cardData?: CardData; bankData?: BankData } {
  if (!isJsonObject(data)) return {};
  if (type === "card") return { cardData: showCardData(data) };
  return type === "bank" ? { bankData: showBankData(data) } : {};
}

function showCardData({ number, expiration_month: month, expiration_year: year, cvc }: JsonObject): CardData {
  const shown: CardData = { $typeName: "cloakroom.v1.CardData" };
  if (isText(number)) shown.number = number;
  if (isInt32(month)) shown.expirationMonth = month;
  if (isInt32(year)) shown.expirationYear = year;
  if (isText(cvc)) shown.cvc = cvc;
  return shown;
}

function showBankData({ routing_number: routing, account_number: account }: JsonObject): BankData {
  return {
    $typeName: "cloakroom.v1.BankData",
    ...(isText(routing) ? { routingNumber: routing } : {}),
    ...(isText(account) ? { accountNumber: account } : {}),
  };
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string";
}

/** An own mask may contain any number, such as 1.5 or 1e300. */
function isInt32(value: Json | undefined): value is number {
  return typeof value === "number" && (value | 0) === value;
}
