/** The header with a person's reason, which the log keeps. Headers are ASCII; the API takes UTF-8 as base64. */
export function reasonHeader(reason: string): Readonly<Record<string, string>> {
  const utf8 = new TextEncoder().encode(reason.trim());
  return { "X-Cloakroom-Reason-Bin": btoa(String.fromCodePoint(...utf8)) };
}
