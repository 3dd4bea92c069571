import { onDemand, preloaded, refused } from "guest:packages";
import { Buffer, kMaxLength } from "node:buffer";
import events from "node:events";
import path from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { HostCalls } from "./ask-host.js";
import { createCryptoModule } from "./crypto/module.js";
import type { Host, PackageFunction } from "./host.js";
import { createAxiosAdapter } from "./http/axios-adapter.js";
import { createFetch, FetchError, Request, Response } from "./http/fetch.js";
import { Headers } from "./http/headers.js";
import { createHttpModule } from "./http/https.js";
import { createOsModule } from "./node/os.js";
import { process } from "./node/process.js";
import { createQuerystringModule } from "./node/querystring.js";
import { createStreamModule } from "./node/stream.js";
import type { Timers } from "./node/timers.js";
import { createTimersPromises } from "./node/timers-promises.js";
import { unavailableModule } from "./node/unavailable.js";
import { createUrlModule } from "./node/url.js";
import { createUtilModule } from "./node/util.js";
import { createZlibModule } from "./node/zlib.js";
import { reactorErrors } from "./reactor-errors.js";

class ModuleNotFound extends Error {
  readonly code = "MODULE_NOT_FOUND";

  constructor(message: string) {
    super(message);
    this.name = "Error";
  }
}

export type Require = ((name: unknown) => unknown) & { readonly resolve: (name: unknown) => string };

/** Packages whose single files are required by name (`lodash/get`): a property of the package, whatever its case. */
const WITH_PARTS = /^(lodash|crypto-js|aws-sdk\/clients)\/([\w.-]+)$/;

export function createRequire(host: Host, calls: HostCalls, timers: Timers): Require {
  const zlib = () => load("zlib");
  const modules = new Map(Object.entries(builtIns(host, calls, timers, { zlib, load, fromPackage })));
  for (const [name, code] of Object.entries(preloaded)) modules.set(name, () => evaluate(code, loadForPackage));
  for (const name of onDemand) modules.set(name, () => fromPackage(name));
  const loaded = new Map<string, unknown>();

  function load(name: string): unknown {
    if (loaded.has(name)) return loaded.get(name);
    const create = modules.get(name);
    const part = create ? undefined : WITH_PARTS.exec(name);
    if (create === undefined && !part) throw notFound(name, modules.keys());
    const exports = create ? create() : modulePart(load(part?.[1]?.split("/")[0] ?? ""), part?.[2] ?? "");
    loaded.set(name, exports);
    return exports;
  }

  function fromPackage(name: string): unknown {
    const code = host.loadPackage(name);
    if (code === undefined) throw new ModuleNotFound(`The package '${name}' is not installed in this vault.`);
    return evaluate(code, loadForPackage);
  }

  /** A package may require an unavailable module that it can do without: the replacement throws when it is used. */
  function loadForPackage(given: string): unknown {
    const name = plainName(given);
    if (name === "guest:axios-adapter") return createAxiosAdapter(calls, zlib);
    const why = refused.get(name);
    return why === undefined ? load(name) : unavailableModule(name, why);
  }

  const resolve = (given: unknown): string => {
    const name = plainName(given);
    if (modules.has(name) || WITH_PARTS.test(name)) return name;
    throw notFound(name, modules.keys());
  };
  return Object.assign((given: unknown) => load(plainName(given)), { resolve });
}

interface Loading {
  readonly zlib: () => unknown;
  readonly load: (name: string) => unknown;
  readonly fromPackage: (name: string) => unknown;
}

/** Node's own modules, and packages that are built here. Each is made when it is first required. */
function builtIns(
  host: Host,
  calls: HostCalls,
  timers: Timers,
  { zlib, load, fromPackage }: Loading,
): Record<string, () => unknown> {
  const fetch = createFetch(calls, zlib);
  const nodeFetch = Object.assign(fetch, { Headers, Request, Response, FetchError, default: fetch });
  return {
    assert: () => fromPackage("assert"),
    "assert/strict": () => Object(load("assert")).strict,
    buffer: () => ({
      Buffer,
      kMaxLength,
      SlowBuffer: Buffer,
      atob,
      btoa,
      constants: { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kMaxLength },
    }),
    constants: () => Object.assign({}, ...Object.values(Object(Object(load("os")).constants))),
    crypto: () => createCryptoModule(host),
    events: () => events,
    http: () => createHttpModule(calls, "http"),
    https: () => createHttpModule(calls, "https"),
    os: createOsModule,
    path: () => path,
    "path/posix": () => path,
    perf_hooks: () => ({ performance }),
    process: () => process,
    punycode: () => fromPackage("punycode"),
    querystring: createQuerystringModule,
    stream: createStreamModule,
    "stream/promises": () => Object(load("stream")).promises,
    string_decoder: () => ({ StringDecoder }),
    timers: () => timers.functions(),
    "timers/promises": createTimersPromises,
    tty: () => ({ isatty: () => false }),
    url: () => createUrlModule(() => fromPackage("url")),
    util: () => createUtilModule(load),
    "util/types": () => Object(load("util")).types,
    zlib: () => createZlibModule(host),
    "node-fetch": () => nodeFetch,
    "@basis-theory/basis-theory-reactor-formulas-sdk-js": () => reactorErrors,
  };
}

/** Node's own modules may have `node:` names, and names that end in a slash. */
function plainName(given: unknown): string {
  return String(given).replace(/^node:|(?<=.)\/$/g, "");
}

function modulePart(whole: unknown, part: string): unknown {
  const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const keys = [...Object.keys(Object(whole)), ...Object.getOwnPropertyNames(Object(whole))];
  const key = keys.find((candidate) => plain(candidate) === plain(part));
  if (key === undefined) throw new ModuleNotFound(`Cannot find module '${part}' in its package.`);
  return Object(whole)[key];
}

function notFound(name: string, available: Iterable<string>): ModuleNotFound {
  const why = refused.get(name);
  if (why !== undefined) return new ModuleNotFound(`The module '${name}' is not available: ${why}.`);
  return new ModuleNotFound(`Cannot find module '${name}'. Available here: ${[...available].sort().join(", ")}.`);
}

function evaluate(code: PackageFunction, require: (name: string) => unknown): unknown {
  const module: { exports: unknown } = { exports: {} };
  code(module, require);
  return module.exports;
}
