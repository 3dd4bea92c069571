import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { rowJson } from "../../src/audit/export/row-json.js";
import { newUuid, VAULT_TENANT_ID } from "../../src/base/ids.js";
import { OPERATOR_COMMANDS } from "../../src/cli/operator-commands.js";
import { NAMES } from "../../src/settings/setting-names.js";

const PAGES = ["docs/compliance/pci-dss.md", "docs/audit-export.md"];
const commands = OPERATOR_COMMANDS.map(({ name }) => name);
const codeOf = (page: string) => [...readFileSync(page, "utf8").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);

describe.each(PAGES)("%s", (page) => {
  it("names settings that exist", () => {
    const named = [...readFileSync(page, "utf8").matchAll(/CLOAKROOM_([A-Z_]+)/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !NAMES.some((known) => known === name))).toEqual([]);
  });

  it("names commands that exist", () => {
    const named = [...readFileSync(page, "utf8").matchAll(/(?:^|`)cloakroom ([a-z]+(?: [a-z-]+)?)/gm)].map(
      ([, name]) => name,
    );
    expect(named.length).toBeGreaterThan(3);
    const isKnown = (text = "") => commands.some((name) => name === text || name === text.split(" ")[0]);
    expect(named.filter((name) => !isKnown(name))).toEqual([]);
  });

  it("names tests that exist", () => {
    const named = codeOf(page).filter((code) => code.startsWith("test/"));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
  });
});

describe("docs/compliance/pci-dss.md", () => {
  it("names every field that 10.2.2 asks for as rows have it", () => {
    const row = /^\| 10\.2\.2 .*$/m.exec(readFileSync("docs/compliance/pci-dss.md", "utf8"))?.[0] ?? "";
    const [, , says = ""] = row.split("|");
    const fields = [...says.matchAll(/`(\w+)`/g)].map(([, field = ""]) => field);
    const empty = { actor_id: null, actor_type: null, key_id: null, source_ip: null, client: null, trace_id: null };
    const newer = { outcome: null, code: null, transform: null, destination_host: null, via_type: null, via_id: null };
    const plain = { micros: "0", id: newUuid(), entity_type: "", entity_id: "", operation: "", message: "" };
    const exported = Object.keys(
      rowJson(VAULT_TENANT_ID, { ...plain, ...empty, ...newer, reason: null, changes: null, set_aside: null }),
    );
    expect(fields.length).toBeGreaterThan(10);
    expect(fields.filter((field) => !exported.includes(field))).toEqual([]);
  });
});
