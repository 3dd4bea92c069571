import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_STACK_SIZE, QuickJS, type QuickJSOptions, type Snapshot } from "quickjs-wasi";

/** The compiled engine: WebAssembly modules can be posted to other threads. */
export interface EngineModules {
  readonly engine: WebAssembly.Module;
  /** Native parts of the guest, in load order. */
  readonly extensions: readonly { readonly name: string; readonly wasm: WebAssembly.Module; readonly initFn: string }[];
}

/** The guest's entry points for the host, see guest/boot.ts. */
export const guestEntries = ["load", "call", "deliver", "fire", "namesOf"] as const;
export type GuestEntry = (typeof guestEntries)[number];

/** Each entry as a token, valid in every instance restored from the snapshot. */
export type EntryTokens = Readonly<Record<GuestEntry, number>>;

/** The built guest image, read once per process and shared by its threads without copying. */
export interface GuestImage {
  readonly modules: EngineModules;
  readonly snapshot: Snapshot;
  readonly entries: EntryTokens;
  /** Bytecode files of packages outside the snapshot, by their name for `require`. */
  readonly packages: ReadonlyMap<string, string>;
}

/** The same for the snapshot's instance and all instances restored from it. */
export function engineOptions({ engine, extensions }: EngineModules): QuickJSOptions {
  return {
    wasm: engine,
    extensions: [...extensions],
    // Without it deep recursion traps and loses the instance; with it the code gets a catchable RangeError.
    maxStackSize: MAX_STACK_SIZE,
    timezoneOffset: 0,
    // Otherwise the engine would write to the standard output of this process.
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

/**
 * Reads the output of scripts/bundle-sandbox.ts.
 * @param packages the folder of packages that are outside the snapshot. Absent: they are not installed.
 */
export async function readGuestImage(directory: string, packages: string | undefined): Promise<GuestImage> {
  const { memory, ...rest } = QuickJS.deserializeSnapshot(readFileSync(join(directory, "snapshot.bin")));
  return {
    modules: await readModules(directory),
    snapshot: { ...rest, memory: shared(memory) },
    entries: JSON.parse(readFileSync(join(directory, "entries.json"), "utf8")),
    packages: new Map(packages === undefined ? [] : filesOf(packages)),
  };
}

function filesOf(folder: string): readonly (readonly [name: string, path: string])[] {
  return readdirSync(folder).map((file) => [decodeURIComponent(file), join(folder, file)]);
}

/** The bytecode of a package, read on demand because all of them together take 20 MB. */
export function readPackage({ packages }: GuestImage, name: string): Uint8Array | undefined {
  const file = packages.get(name);
  return file === undefined ? undefined : readFileSync(file);
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}
