/** Whether the last digit of `digits` is the Luhn check digit of the others (ISO/IEC 7812-1, annex B). */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let fromRight = 0; fromRight < digits.length; fromRight += 1) {
    const digit = Number(digits.at(-1 - fromRight));
    const doubled = fromRight % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Weights of the nine digits of a routing number (American Bankers Association). */
const ABA_WEIGHTS = [3, 7, 1, 3, 7, 1, 3, 7, 1];

/**
 * Whether nine digits have the checksum of a US bank routing number. All zeros pass the checksum but are not a bank.
 */
export function passesAba(digits: string): boolean {
  const sum = ABA_WEIGHTS.reduce((total, weight, at) => total + weight * Number(digits.charAt(at)), 0);
  return sum > 0 && sum % 10 === 0;
}
