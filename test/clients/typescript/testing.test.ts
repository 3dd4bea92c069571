import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startVault } from "../../../clients/typescript/src/testing/index.js";

const program = "dist/src/main.js";
let cache: string;
beforeAll(() => {
  cache = mkdtempSync(join(tmpdir(), "cloakroom-cache-"));
  process.env.CLOAKROOM_TEST_CACHE = cache;
});
afterAll(() => {
  delete process.env.CLOAKROOM_TEST_CACHE;
  rmSync(cache, { recursive: true, force: true });
});

it("starts isolated vaults from one prepared database", async () => {
  await using one = await startVault({ program });
  await using other = await startVault({ program, settings: { BODY_LIMIT_BYTES: "2000" } });
  expect(readdirSync(cache).filter((name) => name.startsWith("vault-"))).toHaveLength(1);
  const client = await one.client();
  const { id } = await client.tokens.create({ type: "card", data: { number: "4242424242424242" } });
  expect((await client.tokens.get<{ number: string }>(id)).data?.number).toBe("4242424242424242");

  const outsider = await other.client({ type: "private", permissions: ["token:create", "token:read"] });
  await expect(outsider.tokens.get(id)).rejects.toMatchObject({ code: "not_found" });
  const large = { type: "token", data: "x".repeat(3_000) };
  await expect(outsider.tokens.create(large)).rejects.toMatchObject({ code: "body_too_large" });
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
  await expect.poll(() => fetch(`${url}/healthz`).catch(() => "gone"), { timeout: 30_000 }).toBe("gone");
});

it("shows the server's message if it does not start", async () => {
  const start = startVault({ program, settings: { NO_SUCH_SETTING: "1" } });
  await expect(start).rejects.toThrow(/NO_SUCH_SETTING/);
});
