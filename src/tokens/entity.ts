import { type EntityType, tokenEntityType } from "../audit/log-entry.js";
import type { TokenType } from "./types/token-type.js";

/** What a log row calls a token: its type. */
export function entityTypeOf({ name }: TokenType): EntityType {
  return tokenEntityType(name);
}
