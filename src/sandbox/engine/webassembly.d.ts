/** Node has it; the types that come with Node leave it to those of browsers. */
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: "WebAssembly.Module";
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
