import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { startVault } from "../../../clients/typescript/src/testing/index.js";
import { newDirectory } from "../../support/new-directory.js";

const program = "dist/src/main.js";
const before = { TMPDIR: process.env.TMPDIR, CLOAKROOM_TEST_CACHE: process.env.CLOAKROOM_TEST_CACHE };
let cache: string;
/** In memory where there is room: a busy disk takes a minute for what takes ten seconds there. */
beforeAll(() => {
  const directory = newDirectory();
  // Closed to others, as root's home is: PostgreSQL does not run as root.
  cache = join(directory, "cache");
  mkdirSync(cache, { mode: 0o700 });
  Object.assign(process.env, { TMPDIR: directory, CLOAKROOM_TEST_CACHE: cache });
  return () => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    rmSync(directory, { recursive: true, force: true });
  };
});

it("starts vaults that share nothing, from one prepared database", async () => {
  // The first prepares the database, the second copies it.
  await using one = await startVault({ program });
  await using other = await startVault({ program, settings: { BODY_LIMIT_BYTES: "2000" } });
  const prepared = readdirSync(cache).filter((name) => name.startsWith("vault-"));
  expect(prepared).toHaveLength(1);
  expect(readdirSync(join(cache, prepared[0] ?? "", "data"))).toContain("pg18");
  const client = await one.client();
  const { id } = await client.tokens.create({ type: "card", data: { number: "4242424242424242" } });
  expect((await client.tokens.get<{ number: string }>(id)).data?.number).toBe("4242424242424242");

  const otherClient = await other.client({ type: "private", permissions: ["token:create", "token:read"] });
  await expect(otherClient.tokens.get(id)).rejects.toMatchObject({ code: "not_found" });
  const large = { type: "token", data: "x".repeat(3_000) };
  await expect(otherClient.tokens.create(large)).rejects.toMatchObject({ code: "body_too_large" });
  expect(one.managementKey).not.toBe(other.managementKey);
});

it("ends with the program that started it, however that ends", async () => {
  const entry = new URL("../../../clients/typescript/dist/testing/index.js", import.meta.url).href;
  const source = `
    import { startVault } from ${JSON.stringify(entry)};
    const vault = await startVault({ program: ${JSON.stringify(program)} });
    console.log(vault.url);
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [printed] = await once(child.stdout, "data");
  const url = String(printed).trim();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill("SIGKILL");
  await expect.poll(() => fetch(`${url}/healthz`).catch(() => "gone")).toBe("gone");
});

it("shows the server's message if it does not start", async () => {
  const start = startVault({ program, settings: { NO_SUCH_SETTING: "1" } });
  await expect(start).rejects.toThrow(/NO_SUCH_SETTING/);
});
