import { invalid } from "../base/fault.js";
import { newUuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { Budget } from "./budget.js";
import { hasCardNumber } from "./composed-number.js";
import { concealedData } from "./concealed-data.js";
import { evaluate } from "./expression.js";
import { holdsCardNumber, holdsCode } from "./id-contents.js";
import { type DrawBelow, drawSecurely } from "./random.js";
import { Rejection } from "./rejection.js";
import { scalarText } from "./scalar-text.js";

/**
 * 3 to 400 characters, without the documented exceptions and without control characters, which URLs and headers cannot
 * have.
 */
const TOKEN_ID = /^[^#/\\+?[\]|&=%<>{}^\p{Cc}]{3,400}$/u;

const EXPECTED =
  "must be 3 to 400 characters, none of them one of # / \\ + ? [ ] | & = % < > { } ^, without blanks at its ends";

/** Whether `text` may be a token id. Blanks at the ends are invalid because references trim them. */
export function isTokenId(text: string): boolean {
  return TOKEN_ID.test(text) && text === text.trim() && text.isWellFormed();
}

/**
 * Checks an id that the caller wrote. Ids are in URLs and logs for years, so they hold no more of a card than BIN and last
 * four.
 * @param code the verification code of card data, which has it no more.
 * @throws {Fault} validation_failed naming `id`.
 */
export function requireTokenId(id: string, data: Json, code?: string): void {
  if (!isTokenId(id)) throw invalid("id", EXPECTED);
  if (holdsCardNumber(id, data)) {
    throw invalid("id", "must not hold more of a card number than its BIN and last four digits");
  }
  if (code !== undefined && holdsCode(id, data, code)) throw invalid("id", "must not hold a verification code");
}

/** If an expression gives a card number after this many evaluations, the token gets a UUID. */
const TRIES = 16;

/**
 * The result of an id's expression, which sees {@link concealedData}: hidden digits of cards and verification codes have
 * no influence on it, and none on whether it fails. A result that is a card number all the same, composed of parts of
 * the data, is not used.
 * @throws {Fault} validation_failed naming `id`.
 */
export function evaluateTokenId(
  expression: string,
  data: Json,
  budget = new Budget(),
  draw: DrawBelow = drawSecurely,
): string {
  let last: string | undefined;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const concealed = metered(budget, () => concealedData(data, draw, budget));
    const id = scalarText(evaluate(expression, { data: concealed }, budget, { draw }), "id");
    if (!isTokenId(id)) throw invalid("id", EXPECTED);
    if (!metered(budget, () => hasCardNumber(id, concealed, budget))) return id;
    // Without anything random in it, the next result would be the same.
    if (id === last) break;
    last = id;
  }
  return newUuid();
}

/** @throws {Fault} validation_failed naming `id` if the budget is exhausted. */
function metered<T>(budget: Budget, work: () => T): T {
  try {
    return budget.timed(work);
  } catch (error) {
    throw error instanceof Rejection ? invalid("id", error.reason) : error;
  }
}
