/**
 * Number of digits of a card number that identify its issuer: eight, by ISO/IEC 7812-1:2017, but six if the number has
 * fewer than 16 digits, by the published interface.
 */
export function binLength(digits: number): number {
  return digits < 16 ? 6 : 8;
}
