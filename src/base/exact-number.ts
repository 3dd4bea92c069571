/** Whether JSON.parse's double for a number has the same decimal value as its text. */
export function isExact(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const wanted = decimalOf(source);
  const kept = decimalOf(String(value));
  return wanted.digits === kept.digits && (wanted.digits === "" || wanted.exponent === kept.exponent);
}

/** A decimal number as its significant digits and the power of ten of the last one. Zero has no digits. */
function decimalOf(text: string): { digits: string; exponent: number } {
  const [mantissa = "", power = "0"] = text.toLowerCase().replace("-", "").split("e");
  const exponentSign = /e-/i.test(text) ? -1 : 1;
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  const exponent = exponentSign * Math.abs(Number(power)) - fraction.length + (all.length - digits.length);
  return { digits, exponent };
}
