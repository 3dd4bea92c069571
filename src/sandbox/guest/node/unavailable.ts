/** Names that are asked for by others than the code that loads the module: they say nothing of how it is used. */
const probed: ReadonlySet<PropertyKey> = new Set(["__esModule", "then", "default", "toJSON", "name", "length"]);

/**
 * Stands for a module that is not here, towards packages that load it and may never use it. All that is in it is a function
 * that throws when it is called.
 *
 * @param why as in the message that tenant code gets where it asks for the module itself.
 */
export function unavailable(name: string, why: string): unknown {
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
      return unavailable(`${name}.${key}`, why);
    },
    apply: refuse,
    construct: refuse,
  });
}
