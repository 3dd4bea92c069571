/** A value of a form: absent ones are left out. */
export type FormValue =
  | string
  | number
  | boolean
  | undefined
  | readonly FormValue[]
  | { readonly [key: string]: FormValue };

/** Stripe's nesting in a form: `card[exp_month]=3&expand[0]=latest_charge`. */
export function encodeForm(fields: Readonly<Record<string, FormValue>>): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) => flatten(name, value));
  return new URLSearchParams(pairs).toString();
}

function flatten(name: string, value: FormValue): [string, string][] {
  if (value === undefined) return [];
  if (typeof value !== "object") return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flatten(`${name}[${key}]`, inner));
}
