/** Words of names of a card's verification code, in lower case. */
const CODES = /^(?:card|cc)?(?:cvc|cvv|csc|cid|cvn|cav|cvd|cvx)\d?$|^cv2$/;
const DESCRIPTIONS = /securitycode|cardcode|verification(?:code|value|number)|cardverification/;

/** Whether a field's name says that it has a verification code: `cvc`, `card_cvv`, `securityCode`. */
export function namesCode(name: string): boolean {
  if (name.length > MAX_NAME) return false;
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.split(/[^a-z\d]+/).some((word) => CODES.test(word)) || DESCRIPTIONS.test(words.replace(/[^a-z]/g, ""));
}

/** Whether a field's name says that its four digits are a year or the end of a number: `expiration_year`, `last4`. */
export function mayBeYearOrEnding(name: string): boolean {
  return name.length <= MAX_NAME && /year|yyyy|last_?(?:4|four)/i.test(name);
}

const MAX_NAME = 100;
