import { type EntityType, tokenEntityType } from "../audit/log-entry.js";
import type { TokenType } from "./types/token-type.js";

/** The entity type of a token in the log: its token type. */
export function loggedTokenType({ name }: TokenType): EntityType {
  return tokenEntityType(name);
}
