import type { JsonObject } from "../base/json.js";
import { showFingerprint } from "../crypto/keyed-hash.js";
import type { Token } from "./token.js";

/**
 * What the event of a created or changed token says beside its id and type. Neither data, nor a mask, nor what an
 * expression evaluates to: receivers of events need no right to read tokens.
 */
export function tokenEventContent(token: Omit<Token, "data">): JsonObject {
  const { attributes, type, containers, fingerprint, expiry, createdBy, createdAt, modifiedBy, modifiedAt } = token;
  const { metadata, searchIndexes, fingerprintExpression } = attributes;
  return {
    containers: [...containers],
    fingerprint_expression: fingerprintExpression ?? type.fingerprintExpression,
    ...(fingerprint ? { fingerprint: showFingerprint(fingerprint) } : {}),
    ...(metadata ? { metadata: { ...metadata } } : {}),
    ...(searchIndexes ? { search_indexes: [...searchIndexes] } : {}),
    ...(expiry ? { expires_at: expiry.text } : {}),
    ...(createdBy === undefined ? {} : { created_by: createdBy }),
    created_at: createdAt.toISOString(),
    ...(modifiedBy === undefined ? {} : { modified_by: modifiedBy }),
    ...(modifiedAt === undefined ? {} : { modified_at: modifiedAt.toISOString() }),
  };
}
