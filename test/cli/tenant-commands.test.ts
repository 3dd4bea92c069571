import { beforeAll, describe, expect, inject, it } from "vitest";
import { type CommandResult, cloakroom, cloakroomFed } from "../support/command.js";
import { newDirectory } from "../support/new-directory.js";
import { newTenant, type TestTenant } from "../support/tenant.js";

let tenant: TestTenant;
const directory = newDirectory();
beforeAll(async () => {
  tenant = await newTenant();
});

const environment = (key: string) => ({
  CLOAKROOM_URL: inject("serverUrl"),
  CLOAKROOM_API_KEY: key,
  XDG_CONFIG_HOME: directory,
});
const manage = (...args: string[]): Promise<CommandResult> => cloakroom(environment(tenant.managementKey), ...args);
const read = async (...args: string[]) => {
  const { code, stdout, stderr } = await manage(...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};

describe("cloakroom tenant", () => {
  it("update changes one setting, and leaves name and other settings", async () => {
    const before = await read("tenant", "get");
    expect(before.id).toBe(tenant.id);
    const after = await read("tenant", "update", "--setting", "require_reveal_reason=true");
    expect(after).toMatchObject({
      name: before.name,
      settings: { ...before.settings, require_reveal_reason: "true" },
    });
    const renamed = await read("tenant", "update", "--name", "Renamed");
    expect(renamed).toMatchObject({ name: "Renamed", settings: after.settings });
  });

  it("update refuses what is no setting, and a call that changes nothing", async () => {
    expect(await manage("tenant", "update")).toMatchObject({ code: 2, stderr: "Give --name or --setting.\n" });
    expect(await manage("tenant", "update", "--setting", "colour=red")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("settings"),
    });
  });

  it("usage counts tokens", async () => {
    const backEnd = await tenant.backEnd();
    await backEnd("POST", "/tokens", { body: { type: "token", data: "counted" } });
    expect(await read("tenant", "usage")).toMatchObject({ token_report: { metrics_by_type: { token: { count: 1 } } } });
  });
});

describe("cloakroom invitations", () => {
  it("create, list, resend and withdraw", async () => {
    const developer = ["grace@example.com", "--role", "DEVELOPER", "--container", "/shop/"];
    expect(await read("invitations", "create", ...developer)).toMatchObject({ containers: ["/shop/"] });
    const invitation = await read("invitations", "create", "ada@example.com", "--role", "AUDITOR");
    expect(invitation).toMatchObject({ email: "ada@example.com", role: "AUDITOR", status: "PENDING" });
    const pending = await read("invitations", "list", "--status", "PENDING");
    expect(pending.map(({ id }: { id: string }) => id)).toContain(invitation.id);
    expect(await read("invitations", "resend", invitation.id)).toMatchObject({ id: invitation.id });
    expect((await manage("invitations", "delete", invitation.id, "--yes")).code).toBe(0);
    expect((await manage("invitations", "get", invitation.id)).code).toBe(5);
    expect((await manage("invitations", "create", "nobody", "--role", "AUDITOR")).code).toBe(1);
  });
});

describe("cloakroom sessions", () => {
  it("create one, and authorize it by a nonce on standard input, once", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const backEnd = await tenant.backEnd();
    const { stdout } = await cloakroom(environment(page.key), "sessions", "create", "--json");
    const session = JSON.parse(stdout);
    const authorize = (...args: string[]) =>
      cloakroomFed(environment(backEnd.key), { lines: [session.nonce] }, "sessions", "authorize", "-", ...args);
    const right = ["--permission", "token:read"];
    expect(await authorize("--permission", "nope")).toMatchObject({ code: 1, stdout: "" });
    expect((await authorize(...right)).code).toBe(0);
    expect((await authorize(...right)).code).not.toBe(0);
    const listed = await cloakroom(environment(session.session_key), "tokens", "list");
    expect(listed).toMatchObject({ code: 0, stderr: "" });
  });

  it("are listed by application without a key or nonce, and end", async () => {
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { body } = await page("POST", "/sessions");
    const [session, ...others] = await read("sessions", "list", "--application", page.id);
    expect([session, others]).toMatchObject([{ application_id: page.id, in_frame: false }, []]);
    expect(JSON.stringify(session)).not.toContain(body.nonce);
    expect((await manage("sessions", "end", session.id)).code).not.toBe(0);
    expect((await manage("sessions", "end", session.id, "--yes")).code).toBe(0);
    expect(await read("sessions", "list", "--application", page.id)).toEqual([]);
    expect((await page("GET", "/applications/key", { key: body.session_key })).status).toBe(401);
  });
});

describe("cloakroom logs list", () => {
  it("filters by each field of a row", async () => {
    const backEnd = await tenant.backEnd();
    await backEnd("POST", "/tokens", { body: { type: "token", id: "filtered", data: "x" } });
    await backEnd("GET", "/tokens/filtered", { headers: { "X-Cloakroom-Reason": "Dispute 17" } });
    const [row] = await read("logs", "list", "--entity-id", "filtered", "--operation", "read");
    const since = ["--since", "1h"];
    const filters = [
      ["--id", row.id],
      ["--actor", row.actor_id, "--actor-type", row.actor_type],
      ["--key", row.key_id, ...since],
      ["--transform", row.transform, ...since],
      ["--outcome", row.outcome, ...since],
      ["--source-ip", row.source_ip, ...since],
      ["--client", row.client, ...since],
      ["--trace-id", row.trace_id, ...since],
      ["--has-reason", "yes", ...since],
    ];
    for (const filter of filters) {
      const rows = await read("logs", "list", ...new Set([...filter, ...since]), "--entity-id", "filtered");
      expect(rows, filter.join(" ")).toContainEqual(row);
    }
    for (const filter of [
      ["--has-reason", "no"],
      ["--via-type", "proxy"],
      ["--via", row.id],
      ["--code", "not_found"],
      ["--destination-host", "partner.example.com"],
    ]) {
      const rows = await read("logs", "list", ...filter, ...since, "--entity-id", "filtered");
      expect(rows, filter.join(" ")).not.toContainEqual(row);
    }
    expect(await manage("logs", "list", "--id", row.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("start_date"),
    });
  });
});
