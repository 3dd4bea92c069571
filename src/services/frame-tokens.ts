import type { Token, TokenizeResponse } from "../../gen/cloakroom/v1/tokens_pb.js";
import { type ObjectFields, structWith, withTokens } from "./replay-tokens.js";

/*
 * What a frame gets of a new token, and its page sees. The data and the mask could hold the value. With a fingerprint, who
 * can call from outside of a browser finds the digits between BIN and last four: there are 1,000 guesses.
 */

export function tokenForFrame(token: Token) {
  const { id, tenantId, type, containers, metadata, expiresAt, card, createdBy, createdAt, extras } = token;
  return {
    id,
    tenantId,
    type,
    containers,
    metadata,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(card ? { card } : {}),
    ...(createdBy === undefined ? {} : { createdBy }),
    ...(createdAt ? { createdAt } : {}),
    // Only tokens of a template that deduplicates are ever found again.
    ...(extras?.deduplicated ? { extras } : {}),
  };
}

const SHOWN = ["id", "tenant_id", "type", "containers", "metadata", "expires_at", "card", "created_by", "created_at"];

/** The same for each token of a response to tokenize. */
export function tokensForFrame({ value }: TokenizeResponse) {
  return value ? { value: withTokens(value, shownToFrame) } : {};
}

function shownToFrame(token: ObjectFields): Parameters<typeof withTokens>[0] {
  const deduplicated = isDeduplicated(token) ? ["_extras"] : [];
  const names = [...SHOWN, ...deduplicated];
  return structWith(Object.fromEntries(Object.entries(token).filter(([name]) => names.includes(name))));
}

function isDeduplicated({ _extras: extras }: ObjectFields): boolean {
  if (extras?.kind.case !== "structValue") return false;
  const { deduplicated } = extras.kind.value.fields;
  return deduplicated?.kind.case === "boolValue" && deduplicated.kind.value;
}
