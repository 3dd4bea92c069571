import { storedContainer } from "../../src/access/container.js";
import { newUuid } from "../../src/base/ids.js";
import type { Json } from "../../src/base/json.js";
import { Sensitive } from "../../src/crypto/sensitive.js";
import type { Token, TokenAttributes } from "../../src/tokens/token.js";
import { tokenType } from "../../src/tokens/types/registry.js";

export const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
export const BANK = { routing_number: "021000021", account_number: "12345678" };

/** An opened token as it is after it was created, without a database. */
export function tokenOf(type: string, data: Json, attributes: TokenAttributes = {}, rest: Partial<Token> = {}): Token {
  const found = tokenType(type);
  return {
    ...{ id: newUuid(), type: found, data: new Sensitive(data), attributes },
    containers: found.containers.map(storedContainer),
    fingerprint: undefined,
    isDeduplicated: false,
    indexValues: undefined,
    expiry: undefined,
    createdBy: newUuid(),
    createdAt: new Date("2026-01-01T00:00:00Z"),
    modifiedBy: undefined,
    modifiedAt: undefined,
    revision: 1,
    ...rest,
  };
}
