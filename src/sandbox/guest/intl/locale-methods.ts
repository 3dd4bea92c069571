import { type HostIntl, numeral } from "./host-intl.js";
import { hide } from "./intl.js";

/** Installs locale-dependent methods of dates, numbers and texts: the engine's ignore the locale. */
export function installLocaleMethods(host: HostIntl): void {
  for (const method of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    hide(Date.prototype, method, function (this: Date, locales?: unknown, options?: unknown) {
      const time = Date.prototype.getTime.call(this);
      if (Number.isNaN(time)) return "Invalid Date";
      return host.call({ kind: "date", method, locales, options, args: [time] });
    });
  }
  for (const method of ["toString", "toTimeString"] as const) {
    // Node adds the name of the time zone, which is always UTC here.
    const plain = Date.prototype[method];
    hide(Date.prototype, method, function (this: Date) {
      const text = plain.call(this);
      return Number.isNaN(Date.prototype.getTime.call(this)) ? text : `${text} (Coordinated Universal Time)`;
    });
  }
  const writeNumber = (value: number | bigint, locales: unknown, options: unknown) =>
    host.call({ kind: "number", method: "toLocaleString", locales, options, args: [numeral(value)] });
  hide(Number.prototype, "toLocaleString", function (this: number, locales?: unknown, options?: unknown) {
    return writeNumber(Number.prototype.valueOf.call(this), locales, options);
  });
  hide(BigInt.prototype, "toLocaleString", function (this: bigint, locales?: unknown, options?: unknown) {
    return writeNumber(BigInt.prototype.valueOf.call(this), locales, options);
  });
  hide(
    String.prototype,
    "localeCompare",
    function (this: unknown, other: unknown, locales?: unknown, options?: unknown) {
      return host.compare(locales, options, String(this), String(other));
    },
  );
  for (const [method, plain] of [
    ["toLocaleLowerCase", "toLowerCase"],
    ["toLocaleUpperCase", "toUpperCase"],
  ] as const) {
    hide(String.prototype, method, function (this: unknown, locales?: unknown) {
      const text = String(this);
      return locales === undefined ? text[plain]() : host.call({ kind: "text", method, locales, args: [text] });
    });
  }
}
