/** The text with the decimal digits of every script as ASCII, such as Arabic-Indic and full-width ones. */
export function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (digit) => String(digitValue(digit.codePointAt(0) ?? 0)));
}

/** The digits of a text, in ASCII, without everything else. */
export function digitsIn(text: string): string {
  return asciiDigits(text).replace(/[^0-9]/g, "");
}

/** Unicode encodes the digits of a script in order, in runs of ten (Unicode Standard, 4.6). */
function digitValue(codePoint: number): number {
  let start = codePoint;
  while (codePoint - start < 9 && /\p{Nd}/u.test(String.fromCodePoint(start - 1))) start -= 1;
  // Mathematical digits are five runs without a gap (U+1D7CE to U+1D7FF).
  if (codePoint >= 0x1d7ce && codePoint <= 0x1d7ff) return (codePoint - 0x1d7ce) % 10;
  return codePoint - start;
}

/** Whether nine digits have the checksum of a US bank routing number. */
export function passesAba(digits: string): boolean {
  if (!/^\d{9}$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, at) => total + Number(digit) * ([3, 7, 1][at % 3] ?? 0), 0);
  return sum > 0 && sum % 10 === 0;
}
