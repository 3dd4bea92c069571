import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { cloakroom } from "../../support/command.js";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { operatorLink, TestBrowser } from "../../support/test-browser.js";

type Client = RestClient & { readonly key: string; readonly id: string };

describe("a question about the log", () => {
  let tenant: TestTenant;
  let reader: Client;
  let searcher: Client;
  let keyId: string;
  const today = () => new Date().toISOString().slice(0, 10);
  const firstDay = today();
  beforeAll(async () => {
    tenant = await newTenant();
    reader = await tenant.backEnd();
    searcher = await tenant.application({ type: "private", permissions: ["token:search"] });
    await reader("POST", "/tokens", { body: { type: "token", id: "asked-about", data: "content-17" } });
    await reader("GET", "/tokens/asked-about", { headers: { "X-Cloakroom-Reason": "Dispute 17" } });
    await searcher("GET", "/tokens/asked-about");
    const { body } = await tenant.manage("GET", `/applications/${reader.id}/keys`);
    keyId = body.data[0].id;
  });
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await cloakroom(inject("serverEnvironment"), "audit", ...args, "--json");
    expect(code, stderr).toBe(0);
    expect(stdout).not.toContain("content-17");
    return JSON.parse(stdout);
  };

  it("who-read lists the reads of a token, and what they are worth", async () => {
    const { rows, complete, worth } = await ask("who-read", "asked-about");
    expect(rows).toEqual([
      expect.objectContaining({
        ...{ tenant_id: tenant.id, actor_id: reader.id, key_id: keyId, operation: "read", entity_id: "asked-about" },
        ...{ transform: "reveal", reason: "Dispute 17", source_ip: "127.0.0.1", outcome: "allowed" },
      }),
    ]);
    expect(complete).toBe(true);
    expect(worth).toEqual([expect.objectContaining({ tenant_id: tenant.id, rows: 1, chain: "whole" })]);
    await vi.waitFor(async () => {
      const { body } = await tenant.manage("GET", "/logs?entity_type=log");
      expect(body.data.map(({ message }: { message: string }) => message)).toContain("Log retrieved: who read a token");
    });
  });

  it("who-read says when there are more rows than asked for, and nothing about unknown tokens", async () => {
    for (let n = 0; n < 3; n += 1) await reader("GET", "/tokens/asked-about");
    const few = await ask("who-read", "asked-about", "--tenant", tenant.id, "--limit", "2");
    expect([few.rows.length, few.complete]).toEqual([2, false]);
    expect(await ask("who-read", "unheard-of")).toEqual({ rows: [], complete: true, worth: [] });
    const later = await ask("who-read", "asked-about", "--since", "2100-01-01");
    expect(later.rows).toEqual([]);
  });

  it.each(["application", "key"])("what-did counts by day what an %s did", async (kind) => {
    const { days, complete, worth } = await ask("what-did", kind === "key" ? keyId : reader.id, "--tenant", tenant.id);
    const sum = (name: string) =>
      days.reduce((total: number, day: Record<string, number>) => total + (day[name] ?? 0), 0);
    expect([sum("created"), sum("denied")]).toEqual([1, 0]);
    expect(sum("revealed")).toBeGreaterThanOrEqual(1);
    expect(days[0]).toMatchObject({ distinct_tokens: 1 });
    expect([firstDay, today()]).toContain(days[0].day);
    expect([complete, worth[0].tenant_id]).toEqual([true, tenant.id]);
  });

  it("denied lists what was refused in the last day, or counts it", async () => {
    const { rows } = await ask("denied", "--since", "24h", "--tenant", tenant.id);
    expect(rows).toEqual([
      expect.objectContaining({ actor_id: searcher.id, outcome: "denied", code: "permission_denied" }),
    ]);
    const { counts } = await ask("denied", "--tenant", tenant.id, "--by", "code");
    expect(counts).toEqual([{ code: "permission_denied", count: 1 }]);
  });

  it("denied --sign-ins lists failed sign-ins alone, with their cause and without their secret", async () => {
    const link = await operatorLink(tenant.id, "owner@example.com");
    const statuses: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      statuses.push((await new TestBrowser().call("SignInService/TakeSignInLink", { link })).status);
    }
    expect(statuses).toEqual([200, 400, 400]);
    await expect
      .poll(async () => (await ask("denied", "--tenant", tenant.id, "--sign-ins", "--since", "7d")).rows)
      .toEqual(Array(2).fill(expect.objectContaining({ entity_type: "sign_in", code: "validation_failed" })));
    const { rows } = await ask("denied", "--tenant", tenant.id, "--sign-ins");
    expect(rows[0]).toMatchObject({
      message: "Sign-In refused: link expired, used or not valid",
      source_ip: "127.0.0.1",
      entity_id: rows[1].entity_id,
    });
    expect(JSON.stringify(rows)).not.toContain(link);
  });

  it("reveals lists who saw a value in the clear, or counts it by actor or day", async () => {
    const { rows } = await ask("reveals", "--tenant", tenant.id, "--since", "24h");
    expect(rows.at(-1)).toMatchObject({ actor_id: reader.id, entity_id: "asked-about", reason: "Dispute 17" });
    const { counts } = await ask("reveals", "--tenant", tenant.id, "--by", "actor");
    expect(counts).toEqual([{ actor: reader.id, count: rows.length }]);
    const byDay = await ask("reveals", "--tenant", tenant.id, "--by", "day", "--actor", reader.id);
    expect([firstDay, today()]).toContain(byDay.counts[0].day);
    expect(await ask("reveals", "--tenant", tenant.id, "--people")).toMatchObject({ rows: [] });
    expect(await ask("reveals", "--tenant", tenant.id, "--actor", searcher.id)).toMatchObject({ rows: [] });
  });

  it("changes lists what changed of rules and settings, with before and after", async () => {
    const rules = [
      { description: "Masked", priority: 1, container: "/pci/", transform: "mask", permissions: ["token:read"] },
    ];
    const { body } = await tenant.manage("POST", "/applications", {
      body: { name: "Changed", type: "private", rules },
    });
    const next = rules.map((rule) => ({ ...rule, transform: "reveal" }));
    await tenant.manage("PUT", `/applications/${body.id}`, { body: { name: "Changed", rules: next } });
    const { rows } = await ask("changes", body.id, "--tenant", tenant.id);
    expect(rows.map(({ operation }: { operation: string }) => operation)).toEqual(["update", "create"]);
    expect(rows[0].changes).toContainEqual({
      field: "rules",
      before: [expect.objectContaining({ transform: "mask" })],
      after: [expect.objectContaining({ transform: "reveal" })],
    });
    const all = await ask("changes", "--tenant", tenant.id, "--since", "24h");
    expect(all.rows).toEqual(expect.arrayContaining(rows));
    expect(await ask("changes", reader.id, "--tenant", tenant.id, "--until", "2020-01-01")).toMatchObject({ rows: [] });
  });

  it.each([
    [["who-read"], "It takes TOKEN"],
    [["who-read", "one", "two"], "It takes TOKEN"],
    [["what-did", "nobody"], "ID must be the id of"],
    [["denied", "--since", "yesterday"], "--since must be an ISO 8601 time"],
    [["denied", "--by", "colour"], "--by must be one of"],
    [["reveals", "--by", "code"], "--by must be one of: actor, key, address, day."],
    [["reveals", "--actor", "ada"], "--actor must be the id of"],
    [["changes", "one", "two"], "ID"],
    [["denied", "--limit", "0"], "--limit must be a whole number"],
    [["denied", "--limit", "10001"], "--limit must be a whole number"],
  ])("%j is refused with the remedy", async (args, remedy) => {
    const { code, stdout, stderr } = await cloakroom(inject("serverEnvironment"), "audit", ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(remedy);
  });
});
