/** Names that module loaders read: reading them does not mean that the module is used. */
const probed: ReadonlySet<PropertyKey> = new Set(["__esModule", "then", "default", "toJSON", "name", "length"]);

/**
 * Replaces an unavailable module for packages that load it and may never use it. Each of its members is a function that
 * throws.
 * @param why the reason, as in the message for tenants' code that requires the module itself.
 */
export function unavailableModule(name: string, why: string): unknown {
  const refuse = (): never => {
    throw new Error(`${name} is not available: ${why}.`);
  };
  // A function rather than an arrow: packages derive classes from it.
  function stand() {
    refuse();
  }
  return new Proxy(stand, {
    get(target, key) {
      if (key === "prototype") return target.prototype;
      if (typeof key === "symbol" || probed.has(key)) return undefined;
      return unavailableModule(`${name}.${key}`, why);
    },
    apply: refuse,
    construct: refuse,
  });
}
