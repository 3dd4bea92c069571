export type Handler = (req: unknown) => unknown;

/**
 * The function that code exports: `module.exports` itself, the default export, the one named `handler`, or the only function
 * among the exports.
 */
export function findHandler(exports: unknown): Handler | undefined {
  const { default: byDefault, handler } = Object(exports);
  // A compiled ES module that is required by another: the default of its default.
  const { default: inner } = Object(byDefault);
  const named = [exports, byDefault, inner, handler].find((candidate) => typeof candidate === "function");
  const functions = Object.values(Object(exports)).filter((value) => typeof value === "function");
  const found = named ?? (functions.length === 1 ? functions[0] : undefined);
  return typeof found === "function" ? (req) => found(req) : undefined;
}
