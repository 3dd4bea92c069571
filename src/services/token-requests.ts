import type { Value } from "@bufbuild/protobuf/wkt";
import {
  type CreateTokenRequest,
  type UpdateTokenRequest,
  UpdateTokenRequestSchema,
} from "../../gen/cloakroom/v1/tokens_pb.js";
import { invalid } from "../base/fault.js";
import type { TokenDraft } from "../tokens/token.js";
import type { TokenPatch } from "../tokens/token-patch.js";
import { fieldsToChange } from "./update-mask.js";
import { toJson } from "./value.js";

/** The token that a caller wants to create. An empty list or map counts as absent. */
export function draftOf(request: CreateTokenRequest): TokenDraft {
  const { data, mask, metadata, searchIndexes, fingerprintExpression } = request;
  if (!data) throw invalid("data", "must be given");
  const definition = mask ? toJson(mask, "mask") : null;
  return {
    id: request.id,
    type: request.type,
    data: toJson(data, "data"),
    attributes: {
      ...(definition === null ? {} : { mask: definition }),
      ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
      ...(searchIndexes.length > 0 ? { searchIndexes } : {}),
      ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    },
    containers: request.containers,
    deduplicate: request.deduplicateToken,
    expiresAt: request.expiresAt,
  };
}

/** Clears a field that is named in the mask but not set. */
export function patchOf(request: UpdateTokenRequest): TokenPatch {
  const named = fieldsToChange(UpdateTokenRequestSchema, request.updateMask);
  const json = (field: string, value: Value | undefined) =>
    named.has(field) ? { [field]: value ? toJson(value, field) : null } : {};
  const list = (items: readonly string[]) => (items.length > 0 ? items : null);
  const fixed = {
    ...(named.has("type") ? { type: request.type ?? null } : {}),
    ...(named.has("tenant_id") ? { tenantId: request.tenantId ?? null } : {}),
  };
  return {
    fixed,
    ...json("data", request.data),
    ...json("mask", request.mask),
    ...json("metadata", request.metadata),
    ...(named.has("containers") ? { containers: list(request.containers) } : {}),
    ...(named.has("search_indexes") ? { searchIndexes: list(request.searchIndexes) } : {}),
    ...(named.has("fingerprint_expression") ? { fingerprintExpression: request.fingerprintExpression ?? null } : {}),
    ...(named.has("deduplicate_token") ? { deduplicate: request.deduplicateToken ?? null } : {}),
    ...(named.has("expires_at") ? { expiresAt: request.expiresAt ?? null } : {}),
  };
}
