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
