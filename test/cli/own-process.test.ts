import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { cloakroom, cloakroomProcess } from "../support/command.js";
import { newTenant } from "../support/tenant.js";

const directory = mkdtempSync(join(tmpdir(), "cloakroom-own-process-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const signedOut = { XDG_CONFIG_HOME: join(directory, "none"), CLOAKROOM_URL: inject("serverUrl") };
const badKey = { ...signedOut, CLOAKROOM_API_KEY: "key_prod_pvt_nopenopenope" };
const away = { ...badKey, CLOAKROOM_URL: "http://127.0.0.1:9" };
const vault = inject("serverEnvironment");
const noVault = { CLOAKROOM_DATA_DIR: join(directory, "nothing") };

/** Tests run commands in their own process. What they see there must be what a shell sees. */
describe("a command in its own process prints and ends as it does in a test's", () => {
  it.each<[string, number, Readonly<Record<string, string>>, ...string[]]>([
    ["help", 0, {}, "--help"],
    ["help of a command", 0, {}, "keys", "rotate", "--help"],
    ["a failure of an operator's command", 1, noVault, "tenants", "list"],
    ["a wrong setting of the server", 1, { CLOAKROOM_PORT: "eighty" }, "serve"],
    ["a finding", 1, noVault, "doctor"],
    ["an unknown command", 2, {}, "tenant", "lists"],
    ["a wrong option of an operator's command", 2, noVault, "tenants", "list", "--nope"],
    ["a wrong option of a command over the API", 2, badKey, "tokens", "list", "--nope"],
    ["an export that cannot be checked", 2, {}, "audit", "verify", "--export", join(directory, "missing"), "--json"],
    ["a missing sign-in", 4, signedOut, "tokens", "list", "--json"],
    ["a refused key", 4, badKey, "tokens", "list"],
    ["a vault that cannot be reached", 8, away, "tokens", "list", "--timeout", "2"],
  ])("%s (%i)", async (_, code, environment, ...args) => {
    const [here, own] = [await cloakroom(environment, ...args), await cloakroomProcess(environment, ...args)];
    expect(own.code, own.stderr).toBe(code);
    expect(withoutTrace(own)).toEqual(withoutTrace(here));
  });

  it("a table and JSON of a tenant in the vault (0)", async () => {
    // Of one tenant: other tests make tenants of the same vault meanwhile.
    const { id } = await newTenant();
    for (const more of [[], ["--json"]]) {
      const args = ["audit", "key", "--tenant", id, ...more];
      const [here, own] = [await cloakroom(vault, ...args), await cloakroomProcess(vault, ...args)];
      expect(own).toEqual(here);
      expect(own).toEqual({ code: 0, stdout: expect.stringContaining(id), stderr: "" });
    }
  });
});

/** Each request has its own trace. */
function withoutTrace({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) {
  return { code, stdout, stderr: stderr.replace(/trace: \S+/, "trace") };
}
