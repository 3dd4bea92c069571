import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_STACK_SIZE, QuickJS, type QuickJSOptions, type Snapshot } from "quickjs-wasi";

/** The engine, compiled: WebAssembly modules can be posted to other threads. */
export interface EngineModules {
  readonly engine: WebAssembly.Module;
  /** Native parts of the guest world, in the order in which they are loaded. */
  readonly extensions: readonly { readonly name: string; readonly wasm: WebAssembly.Module; readonly initFn: string }[];
}

/** What the guest lets the host call, see guest/boot.ts. */
export const guestEntries = ["load", "call", "deliver", "fire", "namesOf"] as const;
export type GuestEntry = (typeof guestEntries)[number];

/** Each entry as a token that holds in every instance restored from the snapshot. */
export type EntryTokens = Readonly<Record<GuestEntry, number>>;

/** The guest world as it was built, read once in a process and shared by its threads: its memory is not copied. */
export interface World {
  readonly modules: EngineModules;
  readonly snapshot: Snapshot;
  readonly entries: EntryTokens;
  /** Files with the bytecode of the packages that are not part of the snapshot, by the name that `require` takes. */
  readonly packages: ReadonlyMap<string, string>;
}

/** Same for the instance that the snapshot is taken of and for all that are restored from it. */
export function engineOptions({ engine, extensions }: EngineModules): QuickJSOptions {
  return {
    wasm: engine,
    extensions: [...extensions],
    // Without it deep recursion traps, and the instance is lost; with it the code gets a RangeError that it may catch.
    maxStackSize: MAX_STACK_SIZE,
    timezoneOffset: 0,
    // The engine would write to the standard output of this process.
    wasi: () => ({ fd_write: () => BAD_FILE_DESCRIPTOR }),
  };
}

const BAD_FILE_DESCRIPTOR = 8;

export async function readModules(directory: string): Promise<EngineModules> {
  const compile = (file: string) => WebAssembly.compile(readFileSync(join(directory, file)));
  const [engine, encoding, clone] = await Promise.all([
    compile("quickjs.wasm"),
    compile("encoding.wasm"),
    compile("structured-clone.wasm"),
  ]);
  return {
    engine,
    extensions: [
      { name: "encoding", wasm: encoding, initFn: "qjs_ext_encoding_init" },
      { name: "structured-clone", wasm: clone, initFn: "qjs_ext_structured_clone_init" },
    ],
  };
}

/** Reads what scripts/bundle-sandbox.ts wrote. */
export async function readWorld(directory: string): Promise<World> {
  const { memory, ...rest } = QuickJS.deserializeSnapshot(readFileSync(join(directory, "snapshot.bin")));
  const packages = join(directory, "packages");
  return {
    modules: await readModules(directory),
    snapshot: { ...rest, memory: shared(memory) },
    entries: JSON.parse(readFileSync(join(directory, "entries.json"), "utf8")),
    packages: new Map(readdirSync(packages).map((file) => [decodeURIComponent(file), join(packages, file)])),
  };
}

/** The bytecode of a package: read when it is asked for, since all of them together take 20 MB. */
export function readPackage({ packages }: World, name: string): Uint8Array | undefined {
  const file = packages.get(name);
  return file === undefined ? undefined : readFileSync(file);
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
