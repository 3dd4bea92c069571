/** In milliseconds. The engine's clock has no finer resolution, which hides the timing of others. */
const now = (): number => performance.now();

type Write = (level: "log" | "error" | "warn", text: string) => void;

/** The output function and the memory gauge. Set when the guest is built, because libraries use `process` before. */
const connected: { write: Write; memoryBytes: () => number } = { write: () => {}, memoryBytes: () => 0 };

export function connectProcess(write: Write, memoryBytes: () => number): void {
  connected.write = write;
  connected.memoryBytes = memoryBytes;
}

function hrtime(earlier?: readonly [seconds: number, nanoseconds: number]): [seconds: number, nanoseconds: number] {
  const nanoseconds = Math.floor(now()) * 1e6 - (earlier ? earlier[0] * 1e9 + earlier[1] : 0);
  return [Math.floor(nanoseconds / 1e9), nanoseconds % 1e9];
}

function refuse(what: string): never {
  throw new Error(`${what} is not available: code here cannot act on the process that runs it.`);
}

function stream(level: "log" | "error") {
  return {
    isTTY: false,
    writable: true,
    columns: 80,
    write(text: unknown): boolean {
      connected.write(level, String(text).replace(/\n$/, ""));
      return true;
    },
    on: () => undefined,
    once: () => undefined,
    end: () => undefined,
  };
}

/** Node's `process`, as far as libraries use it. It emits no events: an uncaught error ends the run. */
export const process = {
  title: "node",
  version: "v16.20.2",
  versions: { node: "16.20.2", v8: "9.4.146.26-node.26", uv: "1.43.0", modules: "93", openssl: "1.1.1v+quic" },
  release: { name: "node", lts: "Gallium" },
  platform: "linux",
  arch: "x64",
  pid: 1,
  ppid: 0,
  argv: ["/usr/local/bin/node", "/function.js"],
  argv0: "node",
  execArgv: [],
  execPath: "/usr/local/bin/node",
  env: {},
  config: { target_defaults: {}, variables: {} },
  features: { inspector: false, ipv6: true, tls: true },
  exitCode: undefined,
  stdin: { isTTY: false, on: () => undefined, once: () => undefined, resume: () => undefined },
  stdout: stream("log"),
  stderr: stream("error"),
  cwd: () => "/",
  chdir: () => refuse("process.chdir"),
  umask: () => 0o22,
  uptime: () => now() / 1_000,
  hrtime: Object.assign(hrtime, { bigint: () => BigInt(Math.floor(now())) * 1_000_000n }),
  memoryUsage: Object.assign(memoryUsage, { rss: () => connected.memoryBytes() }),
  cpuUsage: () => ({ user: Math.floor(now()) * 1_000, system: 0 }),
  nextTick(callback: unknown, ...args: unknown[]): void {
    if (typeof callback !== "function") throw new TypeError('The "callback" argument must be of type function.');
    queueMicrotask(() => callback(...args));
  },
  emitWarning: (warning: unknown) => connected.write("warn", `Warning: ${String(warning)}`),
  getuid: () => 65_534,
  geteuid: () => 65_534,
  getgid: () => 65_534,
  getegid: () => 65_534,
  exit: () => refuse("process.exit"),
  abort: () => refuse("process.abort"),
  kill: () => refuse("process.kill"),
  binding: () => refuse("process.binding"),
  dlopen: () => refuse("process.dlopen"),
  on: listen,
  once: listen,
  addListener: listen,
  prependListener: listen,
  off: listen,
  removeListener: listen,
  removeAllListeners: listen,
  setMaxListeners: listen,
  emit: () => false,
  listeners: (): unknown[] => [],
  listenerCount: () => 0,
  get [Symbol.toStringTag](): string {
    return "process";
  },
};

function memoryUsage() {
  const bytes = connected.memoryBytes();
  return { rss: bytes, heapTotal: bytes, heapUsed: bytes, external: 0, arrayBuffers: 0 };
}

function listen(): unknown {
  return process;
}
