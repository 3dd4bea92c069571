/** Node has it; only the browser types declare it. */
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: "WebAssembly.Module";
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
