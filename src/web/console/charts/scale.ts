/** Round numbers from 0 to at least the largest value, for the lines of an axis. At most five. */
export function axisTicks(largest: number): readonly number[] {
  const rough = Math.max(largest, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 2.5, 5].find((factor) => factor * power >= rough) ?? 10) * power);
  const whole = power < 10 ? Math.ceil(step) : step;
  return Array.from({ length: Math.ceil(Math.max(largest, 1) / whole) + 1 }, (_, index) => index * whole);
}

const SHORT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat();

/** Such as 25K, for an axis. */
export function shortNumber(value: number): string {
  return SHORT.format(value);
}

export function wholeNumber(value: number): string {
  return WHOLE.format(value);
}
