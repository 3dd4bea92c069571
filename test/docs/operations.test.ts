import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { cloakroom } from "../support/command.js";

const guide = readFileSync("docs/operations.md", "utf8");
const MIGRATIONS = "src/store/migrations";

describe("the operator's guide", () => {
  it("distributes every table that has a tenant", () => {
    const sql = readdirSync(MIGRATIONS).map((name) => readFileSync(join(MIGRATIONS, name), "utf8"));
    const tables = sql.flatMap((text) => [...text.matchAll(/create table if not exists (\w+) \(([\s\S]*?)\n\)/g)]);
    const ofTenants = tables.flatMap(([, name = "", columns = ""]) => (/\btenant_id\b/.test(columns) ? [name] : []));
    const distributed = [...guide.matchAll(/create_distributed_table\('(\w+)', 'tenant_id'/g)].map(([, name]) => name);
    expect([...distributed].sort()).toEqual(ofTenants.sort());
  });

  it("names every command and only existing ones, with options that they accept", async () => {
    const help = async (...command: string[]) =>
      (await cloakroom(inject("serverEnvironment"), ...command, "--help")).stdout;
    const there = [...(await help()).matchAll(/^ {2}([a-z]+(?: [a-z]+)?) {2,}/gm)].map(([, name = ""]) => name);
    const calls = [...guide.matchAll(/\bcloakroom ([a-z]+(?: [a-z]+)?)((?: --?[^`#&|<\n]*)?)/g)]
      .map(([, words = "", options = ""]) => ({ words, name: there.find((name) => words === name), options }))
      .filter(({ words, name }) => name !== undefined || guide.includes(`\`cloakroom ${words}\``));
    expect(calls.filter(({ name }) => name === undefined)).toEqual([]);
    expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(there));
    const flags = new Map<string, string[]>();
    for (const { name = "", options } of calls) {
      const named = options.match(/--[a-z-]+/g) ?? [];
      if (named.length > 0) flags.set(name, [...(flags.get(name) ?? []), ...named]);
    }
    for (const [name, named] of flags) {
      const known = (await help(...name.split(" "))).match(/--[a-z-]+/g);
      expect(known, name).toEqual(expect.arrayContaining(named));
    }
  });

  it("links only to existing files", () => {
    for (const [, target = ""] of guide.matchAll(/\]\(([^)#]+)\)/g)) {
      expect(existsSync(join("docs", target)), target).toBe(true);
    }
  });
});
