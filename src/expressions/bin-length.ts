/**
 * How many digits of a card number name its issuer: eight, as ISO/IEC 7812-1:2017 has it, but six when the number has fewer
 * than 16 digits, as the published interface has it.
 */
export function binLength(digits: number): number {
  return digits < 16 ? 6 : 8;
}
