import { isJsonObject, type Json, type JsonObject } from "../../base/json.js";
import { binLength } from "../../expressions/bin-length.js";
import type { BinTable } from "./bin-table.js";
import { type CardBrand, cardBrand, cardBrands } from "./card-brand.js";
import type { TokenType } from "./token-type.js";

/** Card properties that identify a card without its number. Unknown ones are absent. */
export interface CardDetails {
  readonly bin: string;
  readonly last4: string;
  readonly expiration_month?: number;
  readonly expiration_year?: number;
  readonly brand?: CardBrand;
  readonly funding?: "credit" | "debit" | "prepaid";
}

/** Bank account properties that identify an account without its number. */
export interface BankDetails {
  readonly routing_number: string;
  /** Absent for an account number of up to four digits. */
  readonly account_number_last4?: string;
}

/** The detail objects that a response shows beside a token's data. */
export interface TokenDetails {
  readonly card?: CardDetails;
  readonly bank?: BankDetails;
}

/** @param data has been normalized by `type`. */
export function tokenDetails(type: TokenType, data: Json, bins?: BinTable): TokenDetails {
  if (type.details === "bank") {
    const bank = bankDetails(data);
    return bank === undefined ? {} : { bank };
  }
  const card = type.details === "card" ? cardDetails(data, bins) : undefined;
  return card === undefined ? {} : { card };
}

/**
 * The details that a page may see of what is typed into a hosted field: those of a card, without what a BIN table has by
 * digits that the details do not show. A page chooses the type of a value, which may be none of a bank account.
 */
export function detailsForPages(type: TokenType, data: Json, bins?: BinTable): TokenDetails {
  const number = type.details === "card" ? cardNumberOf(data) : undefined;
  if (number === undefined) return {};
  const shown = binOf(number).padEnd(number.length - 4, "0") + number.slice(-4);
  const card = cardDetails(isJsonObject(data) ? { ...data, number: shown } : shown, bins);
  return card ? { card } : {};
}

/**
 * `enrichments` of detokenization expressions: `card_details` for every card, `bin_details` if a BIN table has its
 * issuer. Undefined for other types.
 */
export function enrichments(type: TokenType, data: Json, bins?: BinTable): JsonObject | undefined {
  const number = type.details === "card" ? cardNumberOf(data) : undefined;
  if (number === undefined) return undefined;
  const binDetails = bins?.find(number);
  return {
    ...(binDetails && { bin_details: binDetails }),
    card_details: { bin: binOf(number), last4: number.slice(-4) },
  };
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Details of card data, or of a card number alone; undefined for anything else. */
export function cardDetails(data: Json, bins?: BinTable): CardDetails | undefined {
  const number = cardNumberOf(data);
  if (number === undefined) return undefined;
  const month = isJsonObject(data) ? data.expiration_month : undefined;
  const year = isJsonObject(data) ? data.expiration_year : undefined;
  const issuer = bins?.find(number);
  const brand = knownBrand(issuer?.card_brand) ?? cardBrand(number);
  const funding = fundingOf(issuer);
  const details: Writable<CardDetails> = { bin: binOf(number), last4: number.slice(-4) };
  if (typeof month === "number") details.expiration_month = month;
  if (typeof year === "number") details.expiration_year = year;
  if (brand) details.brand = brand;
  if (funding) details.funding = funding;
  return details;
}

/** Details of bank data; undefined for anything else. */
export function bankDetails(data: Json): BankDetails | undefined {
  if (!isJsonObject(data)) return undefined;
  const { routing_number: routing, account_number: account } = data;
  if (typeof routing !== "string" || typeof account !== "string") return undefined;
  return { routing_number: routing, ...(account.length > 4 ? { account_number_last4: account.slice(-4) } : {}) };
}

function cardNumberOf(data: Json): string | undefined {
  const number = isJsonObject(data) ? data.number : data;
  return typeof number === "string" ? number : undefined;
}

function binOf(number: string): string {
  return number.slice(0, binLength(number.length));
}

/** BIN tables write brands in capitals with spaces: "AMERICAN EXPRESS". */
function knownBrand(name: Json | undefined): CardBrand | undefined {
  if (typeof name !== "string") return undefined;
  const normal = name.trim().toLowerCase().replaceAll(/[ _]+/g, "-");
  return cardBrands.find((brand) => brand === normal);
}

function fundingOf(issuer: JsonObject | undefined): CardDetails["funding"] {
  if (issuer?.prepaid === true) return "prepaid";
  const type = typeof issuer?.type === "string" ? issuer.type.toLowerCase() : undefined;
  return type === "credit" || type === "debit" || type === "prepaid" ? type : undefined;
}
