import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { NAMES } from "../../src/config.js";
import { cloakroom } from "../support/command.js";

const guide = readFileSync("docs/operations.md", "utf8");
const MIGRATIONS = "src/store/migrations";

describe("the operator's guide", () => {
  it("lists every setting, and none that is not", () => {
    const section = guide.slice(guide.indexOf("## Configuration"), guide.indexOf("## Container"));
    const rows = section.split("\n").filter((line) => line.startsWith("| `"));
    const listed = rows.flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`CLOAKROOM_(\w+)`/g)]);
    expect(listed.map(([, name]) => name).sort()).toEqual([...NAMES].sort());
  });

  it("distributes every table that has a tenant", () => {
    const sql = readdirSync(MIGRATIONS).map((name) => readFileSync(join(MIGRATIONS, name), "utf8"));
    const tables = sql.flatMap((text) => [...text.matchAll(/create table if not exists (\w+) \(([\s\S]*?)\n\)/g)]);
    const ofTenants = tables.flatMap(([, name = "", columns = ""]) => (/\btenant_id\b/.test(columns) ? [name] : []));
    const distributed = [...guide.matchAll(/create_distributed_table\('(\w+)', 'tenant_id'/g)].map(([, name]) => name);
    expect([...distributed].sort()).toEqual(ofTenants.sort());
  });

  it("names only commands that there are", async () => {
    const { stdout } = await cloakroom(inject("serverEnvironment"), "--help");
    const named = [...guide.matchAll(/`cloakroom ([a-z]+(?: [a-z]+)?)`/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(3);
    for (const name of named) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  });

  it("links only to files that there are", () => {
    for (const [, target = ""] of guide.matchAll(/\]\(([^)#]+)\)/g)) {
      expect(existsSync(join("docs", target)), target).toBe(true);
    }
  });
});
