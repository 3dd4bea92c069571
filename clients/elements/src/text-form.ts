import type { ElementOptions } from "./protocol.js";

/** What a text field takes: fixed when it is made. */
export type TextForm = Pick<ElementOptions, "mask" | "check">;

export const TEXT_CHECKS = ["luhn", "aba", "account"] as const;
export type TextCheck = (typeof TEXT_CHECKS)[number];

const LONGEST_MASK = 100;
/** Of fewer digits, a check digit would say too much: of one digit, whether it is 0. */
const LUHN_DIGITS = 8;

/** Why a field cannot have this form; undefined if it can. */
export function problemOfForm({ mask, check }: TextForm): string | undefined {
  if (check !== undefined && !TEXT_CHECKS.includes(check)) return `check must be one of: ${TEXT_CHECKS.join(", ")}`;
  if (check === "account" && mask !== undefined) return "check account has no mask: account numbers differ in length";
  if (check === "aba" && mask !== undefined && mask !== "#########") return "check aba has the mask #########";
  if (check === "luhn" && (/[A*]/.test(mask ?? "") || (mask ?? "").split("#").length <= LUHN_DIGITS)) {
    return `check luhn needs a mask of at least ${LUHN_DIGITS} digits, such as ################`;
  }
  if (mask === undefined) return undefined;
  // A digit of the mask would swallow the same digit of the value: the field would be complete one key later.
  const isValid = mask.length <= LONGEST_MASK && /[#A*]/.test(mask) && !/[\p{L}\p{N}]/u.test(mask.replaceAll("A", ""));
  return isValid
    ? undefined
    : `mask must hold places (#, A or *) and may not hold other letters or digits, at most ${LONGEST_MASK} characters`;
}
