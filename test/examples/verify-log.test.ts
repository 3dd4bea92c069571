import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readRowJson } from "../../src/audit/export/row-json.js";
import { verifyExport } from "../../src/audit/verify/verify-export.js";
import { isTenantId } from "../../src/base/ids.js";
import { rowLeaf } from "../../src/crypto/row-digest.js";
import { rowCells } from "../../src/store/audit/raw-log.js";

const FOLDER = new URL("../../examples/verify-log/", import.meta.url);
const FINGERPRINT = /`([0-9a-f]{64})` is its fingerprint/;
const file = readFileSync(new URL("export.jsonl", FOLDER), "utf8");
const page = readFileSync(new URL("../../docs/audit-export.md", import.meta.url), "utf8");
const [, fingerprint = ""] = FINGERPRINT.exec(page) ?? [];
const tenantId = "01a20a2d-bc7c-7000-a262-6f06106886d1";
if (!isTenantId(tenantId)) throw new Error("not the id of a tenant");
const directory = mkdtempSync(join(tmpdir(), "verify-log-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs the program that was written from the page alone. */
function byPython(text: string): { readonly code: number | null; readonly said: string } {
  const path = join(directory, "export.jsonl");
  writeFileSync(path, text);
  const program = new URL("verify_log.py", FOLDER).pathname;
  const { status, stdout, stderr } = spawnSync("python3", [program, path, fingerprint], { encoding: "utf8" });
  return { code: status, said: stdout + stderr };
}

async function byVault(text: string) {
  async function* input() {
    yield Buffer.from(text);
  }
  return (await verifyExport(input(), { fingerprint })).state;
}

const lines = file.trimEnd().split("\n");
const without = (at: number) => `${lines.toSpliced(at, 1).join("\n")}\n`;

// The format is what the page says: others write programs from it, which must be able to check an export.
describe("the verifier in Python, and the vault's own", () => {
  it("find the example of the page good", async () => {
    expect(byPython(file)).toEqual({ code: 0, said: expect.stringMatching(/^good: 11 rows, 4 entries/) });
    expect(await byVault(file)).toBe("good");
    const first = readRowJson(tenantId, lines[1] ?? "");
    expect(page).toContain(
      `the leaf of the first row is \`${first && rowLeaf(tenantId, rowCells(first)).toString("hex")}\``,
    );
    expect(file).toContain(page.match(/"body":"(cloakroom\/audit-seal\/1 [^"]+)"/)?.[1] ?? "no example");
  });

  it.each([
    ["without its last line", `${lines.slice(0, -1).join("\n")}\n`],
    ["without a row", without(lines.findIndex((line) => line.startsWith('{"kind":"row"')))],
    ["without an entry", without(lines.findIndex((line) => line.startsWith('{"kind":"seal"')))],
    ["with another row", file.replace('"operation":"read"', '"operation":"list"')],
    ["with another number of rows", file.replace(" rows 3 ", " rows 4 ")],
    ["with another end of its time", file.replace(/"sealed_until":"2/, '"sealed_until":"3')],
    ["of another tenant", file.replace('"tenant_id":"0', '"tenant_id":"1')],
    ["cut off", file.slice(0, -10)],
  ])("refuse it %s", async (_, changed) => {
    expect(changed).not.toBe(file);
    expect(byPython(changed).code).not.toBe(0);
    expect(await byVault(changed)).toBe("tampered");
  });

  it("refuse it with any of 16 changed bytes", async () => {
    const missed: number[] = [];
    for (let at = 60; at < file.length; at += Math.floor(file.length / 16)) {
      const changed = `${file.slice(0, at)}${file[at] === "1" ? "2" : "1"}${file.slice(at + 1)}`;
      if (byPython(changed).code === 0 || (await byVault(changed)) !== "tampered") missed.push(at);
    }
    expect(missed).toEqual([]);
  });
});
