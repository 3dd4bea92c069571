import { loadedNames, preloaded } from "guest:packages";
import { Buffer, constants, kMaxLength } from "node:buffer";
import events from "node:events";
import querystring from "node:querystring";
import stream from "node:stream";
import { StringDecoder } from "node:string_decoder";
import util from "node:util";
import { createCryptoModule } from "./crypto/module.js";
import type { Host, PackageFunction } from "./host.js";
import type { HostCalls } from "./host-calls.js";
import { createAxios } from "./http/axios.js";
import { createFetch, FetchError, Request, Response } from "./http/fetch.js";
import { Headers } from "./http/headers.js";
import { createHttpModule } from "./http/https.js";
import { format, inspect } from "./inspect.js";
import { reactorErrors } from "./reactor-errors.js";
import type { Timers } from "./timers.js";
import { createUrlModule } from "./url-module.js";

class ModuleNotFound extends Error {
  readonly code = "MODULE_NOT_FOUND";

  constructor(name: string, available: readonly string[]) {
    super(`Cannot find module '${name}'. Available here: ${available.join(", ")}.`);
    this.name = "Error";
  }
}

export type Require = ((name: unknown) => unknown) & { readonly resolve: (name: unknown) => string };

/** `require` for tenant code and for the packages that it loads: a list of modules, and nothing else. */
export function createRequire(host: Host, calls: HostCalls, timers: Timers): Require {
  const fetch = createFetch(calls);
  const nodeFetch = Object.assign(fetch, { Headers, Request, Response, FetchError, default: fetch });
  const modules = new Map<string, () => unknown>(
    Object.entries({
      buffer: () => ({ Buffer, constants, kMaxLength }),
      crypto: () => createCryptoModule(host),
      events: () => events,
      http: () => createHttpModule(calls, "http"),
      https: () => createHttpModule(calls, "https"),
      querystring: () => querystring,
      stream: () => stream,
      string_decoder: () => ({ StringDecoder }),
      timers: () => timers.functions(),
      url: () => createUrlModule(),
      util: () => ({ ...util, format, inspect }),
      axios: () => createAxios(calls),
      "node-fetch": () => nodeFetch,
      "@basis-theory/basis-theory-reactor-formulas-sdk-js": () => reactorErrors,
    }),
  );
  for (const [name, code] of Object.entries(preloaded)) modules.set(name, () => evaluate(code, requireModule));
  for (const name of loadedNames) modules.set(name, () => evaluate(host.loadPackage(name), requireModule));
  const loaded = new Map<string, unknown>();

  function requireModule(given: unknown): unknown {
    const name = String(given).replace(/^node:/, "");
    if (loaded.has(name)) return loaded.get(name);
    const create = modules.get(name);
    if (create === undefined) throw new ModuleNotFound(name, [...modules.keys()].sort());
    const exports = create();
    loaded.set(name, exports);
    return exports;
  }

  const resolve = (given: unknown): string => {
    const name = String(given).replace(/^node:/, "");
    if (modules.has(name)) return name;
    throw new ModuleNotFound(name, [...modules.keys()].sort());
  };
  return Object.assign(requireModule, { resolve });
}

function evaluate(code: PackageFunction, require: (name: string) => unknown): unknown {
  const module: { exports: unknown } = { exports: {} };
  code(module, require);
  return module.exports;
}
