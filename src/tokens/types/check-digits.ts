/** Weights of the nine digits of a routing number (American Bankers Association). */
const ABA_WEIGHTS = [3, 7, 1, 3, 7, 1, 3, 7, 1];

/**
 * Whether nine digits have the checksum of a US bank routing number. All zeros pass the checksum but are not a bank.
 */
export function passesAba(digits: string): boolean {
  const sum = ABA_WEIGHTS.reduce((total, weight, at) => total + weight * Number(digits.charAt(at)), 0);
  return sum > 0 && sum % 10 === 0;
}
