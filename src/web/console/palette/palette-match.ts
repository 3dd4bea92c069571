import { containsCardNumber } from "../card-number-text.js";

export interface PaletteEntry {
  /** What it is, such as "Proxy". */
  readonly kind: string;
  readonly name: string;
  readonly path: string;
}

/** The entries whose name or kind has every word of the text, those that begin with it first. Otherwise in their order. */
export function matching(entries: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words.join(" ");
  const found = entries.filter(({ kind, name }) => {
    const own = `${name} ${kind}`.toLowerCase();
    return words.every((word) => own.includes(word));
  });
  const [begin, rest] = [true, false].map((begins) =>
    found.filter(({ name }) => name.toLowerCase().startsWith(first) === begins),
  );
  return [...(begin ?? []), ...(rest ?? [])];
}

/** What a person can begin, with the operation that it needs. */
export const ACTIONS = [
  { name: "New token", path: "/tokens?new=1", operation: "TokenService/CreateToken" },
  { name: "New application", path: "/applications?new=1", operation: "ApplicationService/CreateApplication" },
  { name: "New proxy", path: "/proxies?new=1", operation: "ProxyService/CreateProxy" },
  { name: "New reactor", path: "/reactors?new=1", operation: "ReactorService/CreateReactor" },
  { name: "New formula", path: "/formulas?new=1", operation: "ReactorFormulaService/CreateReactorFormula" },
  { name: "New connection", path: "/connections?new=1", operation: "ConnectionService/CreateConnection" },
  { name: "New webhook", path: "/webhooks?new=1", operation: "WebhookService/CreateWebhook" },
] as const;

/** Where the text leads as it is, whatever exists. A card number leads nowhere. */
export function lookups(text: string) {
  if (containsCardNumber(text)) return [];
  const query = (name: string) => new URLSearchParams({ [name]: text });
  const token = text.startsWith("/")
    ? { kind: "Tokens in", path: `/tokens?${query("container")}`, operation: "TokenService/SearchTokensByCursor" }
    : { kind: "Token with the id", path: `/tokens?${query("id")}`, operation: "TokenService/GetToken" };
  return [
    token,
    { kind: "Log of", path: `/log?${query("entity_id")}`, operation: "LogService/ListLogs" },
    { kind: "Trace", path: `/log?${query("trace_id")}`, operation: "LogService/ListLogs" },
  ].map((entry) => ({ ...entry, name: text }));
}
