import { storedPaths } from "../access/container.js";
import type { TenantId } from "../base/ids.js";
import { isJsonObject, type Json, type JsonObject, textsIn } from "../base/json.js";
import { encodeAad, open, type SealContext, seal } from "../crypto/sealed.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import type { TokenRow, TokenRowWithCvc } from "../store/tokens/tokens.js";
import { EXPRESSION_FIELDS, type Token, type TokenAttributes } from "./token.js";
import { tokenType } from "./types/registry.js";

/** The parts of a token's data, stored separately: the verification code is sealed with the tenant's key `cvc`. */
export interface SplitData {
  readonly data: Json;
  readonly cvc: string | undefined;
}

/**
 * Removes the verification code from card data. It is stored separately for one hour, so no fingerprint, search index
 * or id, which are permanent, is derived from it.
 */
export function splitCvc(type: string, data: Json): SplitData {
  if (!hasCvc(type, data)) return { data, cvc: undefined };
  const { cvc, ...rest } = data;
  return { data: rest, cvc };
}

export function hasCvc(type: string, data: Json): data is JsonObject & { readonly cvc: string } {
  return type === "card" && isJsonObject(data) && typeof data.cvc === "string";
}

export type BoundRow = Pick<TokenRow, "id" | (typeof AAD_COLUMNS.tokens)[number]>;

/** A new token's sealed values, with the columns that they are bound to. */
export interface SealedToken extends BoundRow, Pick<TokenRow, "data" | "attributes"> {
  readonly cvc: Buffer | undefined;
}

export interface TokenContent {
  /** The data without a verification code: see {@link splitCvc} and {@link tokenDataText}. */
  readonly text: Buffer;
  readonly attributes: TokenAttributes;
  readonly indexValues: readonly string[];
}

/** The sealed columns of a token's row, its data and its attributes, each sealed with the tenant's key `data`. */
export function sealToken(
  keys: TenantKeys,
  row: BoundRow,
  { text, attributes, indexValues }: TokenContent,
): Pick<TokenRow, "data" | "attributes"> {
  const bound = encodeAad(row, AAD_COLUMNS.tokens);
  const written = writeAttributes(attributes, indexValues);
  const context = { tenantId: keys.tenantId, entity: row.id, field: "data", bound };
  return {
    data: seal(keys.data, context, text),
    attributes: written && seal(keys.data, { ...context, field: "attributes" }, tokenDataText(written)),
  };
}

export function tokenDataText(value: Json): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Seals a verification code with the tenant's key `cvc`. */
export function sealCvc(keys: TenantKeys, tokenId: string, cvc: string): Buffer {
  return seal(keys.cvc, cvcContext(keys.tenantId, tokenId), Buffer.from(cvc));
}

/**
 * Null without any attribute, as for most tokens.
 * @param indexValues are stored together with the token's own search indexes.
 */
function writeAttributes(attributes: TokenAttributes, indexValues: readonly string[]): JsonObject | null {
  if (Object.keys(attributes).length === 0) return null;
  const { mask, metadata, searchIndexes, fingerprintExpression, inactive } = attributes;
  const written: JsonObject = {};
  if (mask !== undefined) written.mask = mask;
  if (metadata !== undefined) written.metadata = { ...metadata };
  if (searchIndexes !== undefined) {
    written.search_indexes = [...searchIndexes];
    written.index_values = [...indexValues];
  }
  if (fingerprintExpression !== undefined) written.fingerprint_expression = fingerprintExpression;
  if (inactive !== undefined) written.inactive = [...inactive];
  return Object.keys(written).length === 0 ? null : written;
}

/** Opens a stored token, with its verification code if it still exists. */
export function openToken(keys: TenantKeys, row: TokenRow | TokenRowWithCvc): Token {
  const bound = encodeAad(row, AAD_COLUMNS.tokens);
  const context = { tenantId: keys.tenantId, entity: row.id, field: "data", bound };
  const data: Json = JSON.parse(open(keys.data, context, row.data).toString());
  const code = "cvc" in row ? row.cvc : null;
  if (code && isJsonObject(data)) data.cvc = open(keys.cvc, cvcContext(keys.tenantId, row.id), code).toString();
  const { attributes, indexValues } = openAttributes(keys, context, row);
  return {
    id: row.id,
    type: tokenType(row.type),
    data: new Sensitive(data),
    attributes,
    indexValues,
    containers: storedPaths(row.containers),
    fingerprint: row.fingerprint ?? undefined,
    isDeduplicated: row.dedupe_key !== null,
    expiry: row.expires_at
      ? { at: row.expires_at, text: row.expires_at_text ?? row.expires_at.toISOString() }
      : undefined,
    createdBy: row.created_by,
    createdAt: row.created_at,
    modifiedBy: row.modified_by ?? undefined,
    modifiedAt: row.modified_at ?? undefined,
    revision: row.revision,
  };
}

const NO_ATTRIBUTES: Pick<Token, "attributes" | "indexValues"> = { attributes: {}, indexValues: undefined };

function openAttributes(
  keys: TenantKeys,
  context: SealContext,
  row: TokenRow,
): Pick<Token, "attributes" | "indexValues"> {
  if (!row.attributes) return NO_ATTRIBUTES;
  const written: Json = JSON.parse(open(keys.data, { ...context, field: "attributes" }, row.attributes).toString());
  if (!isJsonObject(written)) throw new Error("the attributes of a token are not an object");
  const { mask, metadata, search_indexes, index_values, fingerprint_expression, inactive } = written;
  const attributes = {
    ...(mask === undefined ? {} : { mask }),
    ...(isJsonObject(metadata) ? { metadata: textsIn(metadata) } : {}),
    ...(Array.isArray(search_indexes) ? { searchIndexes: search_indexes.map(String) } : {}),
    ...(typeof fingerprint_expression === "string" ? { fingerprintExpression: fingerprint_expression } : {}),
    ...(Array.isArray(inactive) ? { inactive: EXPRESSION_FIELDS.filter((field) => inactive.includes(field)) } : {}),
  };
  return { attributes, indexValues: Array.isArray(index_values) ? index_values.map(String) : undefined };
}

function cvcContext(tenantId: TenantId, tokenId: string): SealContext {
  return { tenantId, entity: tokenId, field: "cvc" };
}
