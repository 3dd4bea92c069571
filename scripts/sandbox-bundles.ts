// How the guest world, the packages in it and the runner's own files are bundled, each into one script.
import { readFileSync, realpathSync } from "node:fs";
import { STATUS_CODES } from "node:http";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants as zlibConstants } from "node:zlib";
import { type BuildOptions, build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("../", import.meta.url));
const sandbox = join(root, "src/sandbox");
/** The project of the packages that tenants' code may require. */
const packages = join(root, "packages/guest");

export interface GuestPackage {
  /** The names that `require` accepts. */
  readonly name: string;
  readonly from?: string;
  readonly entry?: string;
}

export interface GuestParts {
  /** Code by name. */
  readonly preloaded: ReadonlyMap<string, string>;
  readonly onDemand: readonly string[];
  /** Names with the reason for their refusal. */
  readonly refused: readonly (readonly [name: string, why: string])[];
}

/** Replacements for Node's modules in the guest world. */
const builtins: Readonly<Record<string, string>> = {
  buffer: "buffer/index.js",
  events: "events/events.js",
  path: "path-browserify/index.js",
  querystring: "querystring-es3/index.js",
  stream: "stream-browserify/index.js",
  string_decoder: "string_decoder/lib/string_decoder.js",
  util: "util/util.js",
};

const forGuest: BuildOptions = {
  bundle: true,
  write: false,
  format: "cjs",
  target: "es2022",
  minifyWhitespace: true,
  minifySyntax: true,
  define: { global: "globalThis", "process.env.NODE_ENV": '"production"' },
  logLevel: "error",
};

/** Packages that have another build for other bundlers. */
function aliases(project: string): Record<string, string> {
  return {
    // Its other build puts some thirty functions into the global object.
    tslib: join(project, "node_modules/tslib/tslib.es6.mjs"),
    // Its other build requires `util`, which requires this module.
    inherits: join(project, "node_modules/inherits/inherits_browser.js"),
  };
}

/** Packages of the guest world that others use as well: they come from the guest's own `require`. */
const shared = ["axios", "form-data", "node-fetch"];

/** `(function (module, require) { ... })`: Node's modules and shared packages come from the guest's own `require`. */
export async function bundlePackage({ name, from = name, entry = from }: GuestPackage): Promise<string> {
  const code = await bundled({
    ...forGuest,
    absWorkingDir: packages,
    platform: "node",
    mainFields: ["main"],
    alias: aliases(packages),
    external: shared.filter((known) => known !== name),
    plugins: [withFiles, ...(name === "axios" ? [axiosForGuest] : [])],
    stdin: { contents: `module.exports = require("${entry}")`, resolveDir: packages },
  });
  return `(function (module, require) { var exports = module.exports; ${code}\n})`;
}

/** Packages that read their own files (fonts, tables) have them bundled. */
const withFiles: Plugin = {
  name: "with files",
  setup({ onLoad }) {
    onLoad(
      { filter: /[\\/]node_modules[\\/](pdfkit|fontkit|linebreak|unicode-properties)[\\/].*\.js$/ },
      ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(
          /(?:fs|require\(['"]fs['"]\))\.readFileSync\(__dirname \+ ['"]([^'"]+)['"](, ['"]utf-?8['"])?\)/g,
          (_call, file: string, isText: string | undefined) => {
            const content = readFileSync(join(dirname(path), file));
            return isText
              ? JSON.stringify(content.toString("utf8"))
              : `Buffer.from("${content.toString("base64")}", "base64")`;
          },
        ),
      }),
    );
  },
};

/** axios sends through the guest's adapter, and loads its multipart forms (a table of 150 KB) when they are used. */
const axiosForGuest: Plugin = {
  name: "axios for the guest",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /adapters\/(http|xhr)$/ }, () => ({ path: "adapter", namespace: "guest" }));
    onLoad({ filter: /.*/, namespace: "guest" }, () => ({
      resolveDir: join(packages, "node_modules/axios/lib"),
      contents: `module.exports = require("guest:axios-adapter")({
        buildFullPath: require("./core/buildFullPath"), buildURL: require("./helpers/buildURL"), settle: require("./core/settle"),
        AxiosError: require("./core/AxiosError"), CanceledError: require("./cancel/CanceledError") });`,
    }));
    onResolve({ filter: /^guest:/ }, ({ path }) => ({ path, external: true }));
    onLoad({ filter: /axios[\\/].*[\\/]classes[\\/]FormData\.js$/ }, () => ({
      contents: 'module.exports = function FormData(options) { return new (require("form-data"))(options); };',
    }));
  },
};

/** A script whose value is the function that builds the world. */
export async function bundleGuest({ preloaded, onDemand, refused }: GuestParts): Promise<string> {
  const entries = [...preloaded].map(([name, code]) => `${JSON.stringify(name)}: ${code}`);
  const virtual: Readonly<Record<string, string>> = {
    "guest:packages": `export const preloaded = { ${entries.join(",\n")} };
      export const onDemand = ${JSON.stringify(onDemand)};
      export const refused = new Map(${JSON.stringify(refused)});`,
    // The constants of Linux, which are the same on all servers.
    "guest:node-constants": `export const os = ${JSON.stringify({ signals: constants.signals, errno: constants.errno, priority: constants.priority })};
      export const zlib = ${JSON.stringify(zlibConstants)};
      export const STATUS_CODES = ${JSON.stringify(STATUS_CODES)};`,
  };
  const plugin: Plugin = {
    name: "guest",
    setup({ onResolve, onLoad }) {
      const names = Object.keys(builtins).join("|");
      onResolve({ filter: new RegExp(`^(node:)?(${names})/?$`) }, ({ path }) => ({
        // By its real path: in pnpm's layout a package finds those it needs only there.
        path: realpathSync(join(root, "node_modules", builtins[path.replace(/^node:|\/$/g, "")] ?? path)),
      }));
      onResolve({ filter: /^guest:/ }, ({ path }) => ({ path, namespace: "guest" }));
      onLoad({ filter: /.*/, namespace: "guest" }, ({ path }) => ({ contents: virtual[path] ?? "" }));
    },
  };
  const code = await bundled({
    ...forGuest,
    absWorkingDir: root,
    alias: aliases(root),
    platform: "neutral",
    mainFields: ["main"],
    plugins: [plugin],
    inject: [join(sandbox, "guest/node/process.ts")],
    entryPoints: [join(sandbox, "guest/boot.ts")],
  });
  return `(function () { var module = { exports: {} }; ${code}\nreturn module.exports.default; })()`;
}

/** Piscina is not bundled: it starts its threads from its own file. */
export function bundleForNode(entry: string): Promise<string> {
  return bundled({
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node22",
    external: ["piscina"],
    entryPoints: [join(sandbox, entry)],
    logLevel: "error",
  });
}

async function bundled(options: BuildOptions): Promise<string> {
  const { outputFiles = [] } = await build({ ...options, write: false });
  return outputFiles.map(({ text }) => text).join("");
}
