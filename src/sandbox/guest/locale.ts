/**
 * Without `Intl` the engine's `toLocaleString` writes numbers as `String` does. Code from Node expects at least the
 * American form that it has there by default: groups of three digits, and at most three digits of fraction.
 */
export function installLocaleNumbers(): void {
  const options = { writable: true, configurable: true, enumerable: false };
  Object.defineProperty(Number.prototype, "toLocaleString", {
    ...options,
    value(this: number, _locales?: unknown, format?: unknown) {
      return localeNumber(Number(this), format);
    },
  });
  Object.defineProperty(BigInt.prototype, "toLocaleString", {
    ...options,
    value(this: bigint) {
      return grouped(String(this));
    },
  });
}

function localeNumber(value: number, format: unknown): string {
  if (Number.isNaN(value)) return "NaN";
  const { style, currency, minimumFractionDigits, maximumFractionDigits, useGrouping } = Object(format);
  const money = style === "currency";
  const least = fractionDigits(minimumFractionDigits) ?? (money ? 2 : 0);
  const most = Math.max(fractionDigits(maximumFractionDigits) ?? (money ? 2 : style === "percent" ? 0 : 3), least);
  const size = Math.abs(style === "percent" ? value * 100 : value);
  if (!Number.isFinite(size)) return value < 0 ? "-∞" : "∞";
  // toFixed turns to exponents from 1e21 on; whole numbers of that size are written out by BigInt.
  const [whole = "0", fraction = ""] = size < 1e21 ? size.toFixed(most).split(".") : [String(BigInt(size))];
  const digits = useGrouping === false ? whole : grouped(whole);
  const kept = fraction.slice(0, least) + fraction.slice(least).replace(/0+$/, "");
  const text = kept === "" ? digits : `${digits}.${kept}`;
  return `${value < 0 ? "-" : ""}${money ? currencySign(currency) : ""}${text}${style === "percent" ? "%" : ""}`;
}

function fractionDigits(value: unknown): number | undefined {
  return value === undefined ? undefined : Math.min(Math.max(Math.trunc(Number(value)) || 0, 0), 20);
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function currencySign(currency: unknown): string {
  const signs: Readonly<Record<string, string>> = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹" };
  const code = String(currency).toUpperCase();
  return signs[code] ?? `${code} `;
}
