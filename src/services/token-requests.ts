import type { Value } from "@bufbuild/protobuf/wkt";
import {
  type CreateTokenRequest,
  type UpdateTokenRequest,
  UpdateTokenRequestSchema,
} from "../../gen/cloakroom/v1/tokens_pb.js";
import { invalid } from "../base/fault.js";
import { DATA_FIELDS } from "../tokens/data-field.js";
import type { TokenDraft } from "../tokens/token.js";
import type { TokenPatch } from "../tokens/token-patch.js";
import { readTypedData } from "./typed-data.js";
import { fieldsToChange } from "./update-mask.js";
import { toJson } from "./value.js";

/** The token that a caller wants to create. An empty list or map counts as absent. */
export function readTokenDraft(request: CreateTokenRequest): TokenDraft {
  const { mask, metadata, searchIndexes, fingerprintExpression } = request;
  const definition = mask ? toJson(mask, "mask") : null;
  return {
    id: request.id,
    type: request.type,
    ...dataOf(request),
    attributes: {
      ...(definition === null ? {} : { mask: definition }),
      ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
      ...(searchIndexes.length > 0 ? { searchIndexes } : {}),
      ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
    },
    containers: request.containers,
    deduplicate: request.deduplicateToken,
    expiresAt: request.expiresAt,
    template: request.template,
  };
}

function dataOf(request: CreateTokenRequest): Pick<TokenDraft, "data" | "dataField"> {
  const typed = readTypedData(request);
  if (typed) return typed;
  if (!request.data) throw invalid("data", "must be given");
  return { data: toJson(request.data, "data") };
}

/** Clears a field that is named in the mask but not set. */
export function readTokenPatch(request: UpdateTokenRequest): TokenPatch {
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
    ...typedPatchOf(request, named),
    ...json("mask", request.mask),
    ...json("metadata", request.metadata),
    ...(named.has("containers") ? { containers: list(request.containers) } : {}),
    ...(named.has("search_indexes") ? { searchIndexes: list(request.searchIndexes) } : {}),
    ...(named.has("fingerprint_expression") ? { fingerprintExpression: request.fingerprintExpression ?? null } : {}),
    ...(named.has("deduplicate_token") ? { deduplicate: request.deduplicateToken ?? null } : {}),
    ...(named.has("expires_at") ? { expiresAt: request.expiresAt ?? null } : {}),
  };
}

/**
 * Data that is sent in a message of its own.
 * @throws {Fault} validation_failed if the mask names several fields with data, or one that is not set: a token keeps
 * its data.
 */
function typedPatchOf(request: UpdateTokenRequest, named: ReadonlySet<string>): Pick<TokenPatch, "data" | "dataField"> {
  const [first, second] = DATA_FIELDS.filter((field) => named.has(field));
  if (second !== undefined) throw invalid(second, `must not be given together with ${first}`);
  if (first === undefined || first === "data") return {};
  const { cardData, bankData } = request;
  const typed = readTypedData(first === "card_data" ? { cardData } : { bankData });
  if (!typed) throw invalid(first, "must be given, because the update mask names it");
  return typed;
}
