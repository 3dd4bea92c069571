import { ENTITY_TYPES, type EntityType } from "../audit/log-entry.js";
import type { TokenType } from "./types/token-type.js";

/** What a log row calls a token: by its type. */
export function entityTypeOf({ name }: TokenType): EntityType {
  if (!isEntityType(name)) throw new Error(`the log knows no entity type for tokens of type ${name}`);
  return name;
}

function isEntityType(name: string): name is EntityType {
  return Object.hasOwn(ENTITY_TYPES, name);
}
