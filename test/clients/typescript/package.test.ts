import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const run = promisify(execFile);
const PACKAGE = "clients/typescript";

let directory: string;
let files: readonly string[];
let tenant: TestTenant;
let apiKey: string;

/** The package as a program gets it: packed, and installed in a separate folder. */
beforeAll(async () => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "cloakroom-client-")));
  const packed = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", directory], {
    cwd: PACKAGE,
  });
  const [{ filename, files: entries }] = JSON.parse(packed.stdout);
  files = entries.map(({ path }: { path: string }) => path);
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true }));
  // Its peer packages come from here, because no registry may be reachable.
  const others = ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"];
  const folders = others.map((name) => resolve("node_modules", name));
  const flags = ["--offline", "--install-links", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, join(directory, filename), ...folders], { cwd: directory });
  tenant = await newTenant();
  apiKey = (await tenant.backEnd()).key;
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a program in the folder. */
async function runProgram(name: string, source: string): Promise<string> {
  writeFileSync(join(directory, name), source);
  const env = { PATH: process.env.PATH, CLOAKROOM_URL: tenant.url, CLOAKROOM_API_KEY: apiKey };
  return (await run(process.execPath, [name], { cwd: directory, env })).stdout.trim();
}

async function bundle(source: string, platform: "browser" | "node" = "browser"): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: directory },
    ...{ bundle: true, minify: true, write: false, format: "esm", platform, logLevel: "silent" },
  });
  return outputFiles[0]?.text ?? "";
}

const ONE_TOKEN = `
  const client = new Cloakroom({ baseUrl: "https://vault.example.com", apiKey: "key_test_pub_x" });
  export const token = client.tokens.create({ type: "card", data: { number: "4242424242424242" } });`;

describe("the packed client", () => {
  it("contains what its exports name, and no tests", () => {
    const { exports: map } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8"));
    const targets = JSON.stringify(map).match(/\.\/dist[^"]+/g) ?? [];
    expect(targets.length).toBeGreaterThan(10);
    for (const target of targets) {
      const name = target.replace("./", "").replace("*", "cloakroom/v1/tokens_pb");
      expect(files).toContain(name);
    }
    // The order of a map counts: types before code, and `default` last, which serves `require` too.
    expect(Object.keys(map["."])).toEqual(["browser", "node", "types", "default"]);
    for (const entry of [map["."].browser, map["."].node, map["./browser"], map["./testing"]]) {
      expect(Object.keys(entry)).toEqual(["types", "default"]);
    }
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "dist/index.d.ts.map", "src/index.ts"]));
    expect(files.filter((name) => /test\.|node_modules|tsbuildinfo/.test(name))).toEqual([]);
  });

  it("sends its own version to the server", () => {
    const { version } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8"));
    expect(readFileSync(`${PACKAGE}/src/node.ts`, "utf8")).toContain(`VERSION = "${version}"`);
  });

  const create = 'new Cloakroom().tokens.create({ type: "token", data: "x" }).then(({ type }) => console.log(type))';

  it("can be imported", async () => {
    expect(await runProgram("a.mjs", `import { Cloakroom } from "@cloakroom/client";\n${create};`)).toBe("token");
  });

  it("can be required", async () => {
    expect(await runProgram("a.cjs", `const { Cloakroom } = require("@cloakroom/client");\n${create};`)).toBe("token");
  });

  it.each([
    ["nodenext", "nodenext"],
    ["node16", "node16"],
    ["preserve", "bundler"],
  ])("has types for module %s, resolved as %s", async (module, moduleResolution) => {
    mkdirSync(join(directory, moduleResolution), { recursive: true });
    writeFileSync(
      join(directory, moduleResolution, "a.mts"),
      `import { Cloakroom, CloakroomError, type ApplicationId, type TokenId } from "@cloakroom/client";
       import { Cloakroom as Thin } from "@cloakroom/client/browser";
       interface Card { number: string }
       const card: Card = { number: "4242424242424242" };
       const client = new Cloakroom({ baseUrl: "https://vault.example.com" });
       const { id } = await client.tokens.create({ type: "card", data: card, expiresAt: new Date() });
       const read: string | undefined = (await client.tokens.get<Card>(id)).data?.number;
       const plain: TokenId = "a text";
       const application: ApplicationId = "another";
       // @ts-expect-error the id of an application is not that of a token
       client.tokens.get(application);
       // @ts-expect-error a card has data
       client.tokens.create({ type: "card" });
       // @ts-expect-error there is no such type of application
       client.applications.create({ name: "x", type: "secret" });
       function cause(error: CloakroomError): boolean { return error.code === "timeout"; }
       export const all = [read, plain, cause, new Thin({ baseUrl: "https://vault.example.com" }).sessions.create()];`,
    );
    const flags = [
      "--strict",
      "--noEmit",
      "--exactOptionalPropertyTypes",
      "--target",
      "es2022",
      "--lib",
      "es2024,dom,esnext.disposable",
    ];
    const args = ["--module", module, "--moduleResolution", moduleResolution, "--types", "", ...flags];
    const tsc = resolve("node_modules/typescript/bin/tsc");
    const checked = run(process.execPath, [tsc, ...args, join(moduleResolution, "a.mts")], { cwd: directory });
    await checked.catch(({ stdout }) => expect.fail(stdout));
  });
});

describe("a bundle for browsers", () => {
  it.each([
    ["@cloakroom/client/browser", 6_400],
    ["@cloakroom/client", 9_950],
  ])("with %s has less than %i bytes, compressed", async (entry, limit) => {
    const text = await bundle(`import { Cloakroom } from "${entry}";${ONE_TOKEN}`);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(limit);
    expect(text).not.toMatch(/node:|bufbuild|descriptor/);
  });

  it("with generated messages and Connect has less than 40 KB, compressed", async () => {
    const text = await bundle(`
      import { createClient } from "@connectrpc/connect";
      import { createConnectTransport } from "@connectrpc/connect-web";
      import { TokenService } from "@cloakroom/client/proto/cloakroom/v1/tokens_pb";
      export const tokens = createClient(TokenService, createConnectTransport({ baseUrl: "https://vault.example.com" }));
      export const token = tokens.createToken({ type: "card" });`);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(40_000);
    expect(text).not.toContain("buf/validate");
  });
});
