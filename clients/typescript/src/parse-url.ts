/** A URL; undefined for text that is not one. `URL.parse` and `URL.canParse` are missing in browsers of 2023. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
