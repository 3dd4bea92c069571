import type { JSValueHandle, QuickJS } from "quickjs-wasi";

/** Generated modules find the guest's `require` by this name. See guest/boot.ts. */
const REQUIRE = 'globalThis[Symbol.for("cloakroom.require")]';

/**
 * Source of an ES module that wraps a CommonJS module: its exports are the default, and each of them by name.
 * @param namesOf the guest's entry: the names that a module exports, as a JSON list.
 * @throws {Error} with the message of `require`, if there is no such module.
 */
export function moduleSource(vm: QuickJS, namesOf: JSValueHandle, specifier: string): string {
  const names = exportedNames(vm, namesOf, specifier);
  const lines = names.map(
    (name, index) => `const v${index} = m[${JSON.stringify(name)}]; export { v${index} as ${name} };`,
  );
  return `const m = ${REQUIRE}(${JSON.stringify(specifier)}); export default m; ${lines.join(" ")}`;
}

function exportedNames(vm: QuickJS, namesOf: JSValueHandle, specifier: string): string[] {
  let message = "The module cannot be loaded.";
  try {
    using name = vm.newString(specifier);
    using result = vm.callFunction(namesOf, vm.undefined, name);
    const names: unknown = JSON.parse(result.toString());
    if (Array.isArray(names)) return names.filter(isName);
  } catch (error) {
    if (error instanceof Error) message = error.message;
  }
  // Without a stack: the guest sees this error, and a stack would tell it of our files.
  throw Object.assign(new Error(message), { stack: "" });
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "default" && /^[A-Za-z_$][\w$]{0,200}$/.test(value);
}
