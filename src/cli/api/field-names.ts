/** Fields whose content is the caller's own: its names stay as they are. */
const OPAQUE = new Set([
  "data",
  "mask",
  "metadata",
  "configuration",
  "settings",
  "errors",
  "args",
  "raw",
  "returned",
  "body",
]);

/** Names of the client where the REST API's name is not the same in snake case. */
const REST_NAMES: Readonly<Record<string, string>> = { extras: "_extras" };

export function toRestNames(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return renamed(
    value,
    (name) => REST_NAMES[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    toRestNames,
  );
}

export function toClientNames(value: unknown): unknown {
  return renamed(
    value,
    (name) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    toClientNames,
  );
}

function renamed(value: unknown, rename: (name: string) => string, each: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(each);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([name, item]) => [rename(name), OPAQUE.has(name) ? item : each(item)]));
}
