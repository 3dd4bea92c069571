import { invalid } from "../../base/fault.js";
import { bank, usBankAccountNumber, usBankRoutingNumber } from "./bank.js";
import { card, cardNumber } from "./card.js";
import { employerIdNumber, socialSecurityNumber } from "./identity.js";
import { token } from "./token.js";
import type { TokenType } from "./token-type.js";

export const tokenTypes: readonly TokenType[] = [
  token,
  card,
  bank,
  cardNumber,
  usBankAccountNumber,
  usBankRoutingNumber,
  socialSecurityNumber,
  employerIdNumber,
];

const byName: ReadonlyMap<string, TokenType> = new Map(tokenTypes.map((type) => [type.name, type]));

/** The type that a request names. Throws a fault on `field` that lists the existing types. */
export function tokenType(name: string, field = "type"): TokenType {
  const type = byName.get(name);
  if (type === undefined) throw invalid(field, `must be one of: ${[...byName.keys()].join(", ")}`);
  return type;
}
