/** The texts that are not blank, as the query of an address. */
export function filledParams(texts: Readonly<Record<string, string>>): URLSearchParams {
  const entries = Object.entries(texts).map(([name, text]): [string, string] => [name, text.trim()]);
  return new URLSearchParams(entries.filter(([, text]) => text !== ""));
}
