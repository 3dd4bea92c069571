/** An amount in minor units, in the person's format: 1050 and EUR as €10.50. Amounts are below 2^53. */
export function formatMoney(amount: bigint, currency: string): string {
  try {
    const format = new Intl.NumberFormat(undefined, { style: "currency", currency });
    const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
    return format.format(Number(amount) / 10 ** digits);
  } catch {
    // A currency that this browser does not know.
    return `${amount} ${currency} (minor units)`;
  }
}
