import { beforeAll, describe, expect, it } from "vitest";
import type { RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const DEFAULTS = {
  fingerprint_tokens: "false",
  disable_ephemeral_proxy: "false",
  deduplicate_tokens: "false",
  require_reveal_reason: "false",
  record_log_reads: "false",
  reveal_to_people: "false",
  require_export_approval: "false",
};

/** Changes the tenant, again for as long as others come first. */
async function changed(tenant: TestTenant, body: object): Promise<RestResponse> {
  for (;;) {
    const response = await tenant.manage("PUT", "/tenants/self", { body });
    if (response.status !== 409) return response;
  }
}

describe("the tenant", () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await newTenant();
  });
  const put = (body: object) => tenant.manage("PUT", "/tenants/self", { body });

  it("is the owner of the key used", async () => {
    const { status, body } = await tenant.manage("GET", "/tenants/self");
    expect(status).toBe(200);
    expect(body).toEqual({
      id: tenant.id,
      owner_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "Test",
      settings: DEFAULTS,
      created_at: expect.stringMatching(TIME),
    });
    const other = await newTenant();
    expect((await other.manage("GET", "/tenants/self")).body.id).toBe(other.id);
  });

  it.each([
    ["no name", {}, ["name"]],
    ["an empty name", { name: "" }, ["name"]],
    ["a name of 201 characters", { name: "x".repeat(201) }, ["name"]],
    ["a name that is a number", { name: 5 }, ["name"]],
    [
      "a setting that is a boolean",
      { name: "x", settings: { fingerprint_tokens: true } },
      ["settings.fingerprint_tokens"],
    ],
    [
      "a setting that is another text",
      { name: "x", settings: { fingerprint_tokens: "yes" } },
      ["settings.fingerprint_tokens"],
    ],
    ["settings that are a list", { name: "x", settings: [] }, ["settings"]],
    ["a setting that is not known", { name: "x", settings: { require_mfa: "true" } }, ["settings.require_mfa"]],
    ["a setting of that name", { name: "x", settings: JSON.parse('{"__proto__":"true"}') }, ["settings.__proto__"]],
    [
      "a newer client's setting that asks for other behaviour",
      { name: "x", settings: { token_deduplication_behavior: "update_existing" } },
      ["settings.token_deduplication_behavior"],
    ],
  ])("is not changed by %s", async (_, wrong, fields) => {
    const { status, body } = await put(wrong);
    expect({ status, code: body.code, fields: Object.keys(body.errors ?? {}) }).toEqual({
      status: 400,
      code: "validation_failed",
      fields,
    });
    expect((await tenant.manage("GET", "/tenants/self")).body).toMatchObject({ name: "Test", settings: DEFAULTS });
  });

  it("accepts a newer client's setting that asks for existing behaviour", async () => {
    const settings = { token_deduplication_behavior: "read_existing" };
    expect(await put({ name: "Test", settings })).toMatchObject({ status: 200, body: { settings: DEFAULTS } });
  });

  it("applies concurrent changes one after the other, and loses none", async () => {
    const own = await newTenant();
    const settings = [
      { fingerprint_tokens: "true" },
      { deduplicate_tokens: "true" },
      { disable_ephemeral_proxy: "true" },
      { require_reveal_reason: "true" },
      { record_log_reads: "true" },
      { reveal_to_people: "true" },
    ];
    for (let round = 0; round < 4; round += 1) {
      const responses = await Promise.all(settings.map((change) => changed(own, { name: "Own", settings: change })));
      expect(responses.map(({ status }) => status)).toEqual(settings.map(() => 200));
      expect((await own.manage("GET", "/tenants/self")).body.settings).toEqual(
        Object.assign({ ...DEFAULTS }, ...settings),
      );
      const off = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, "false"]));
      const headers = { "X-Cloakroom-Reason": "the next round" };
      const ended = await own.manage("PUT", "/tenants/self", { body: { name: "Own", settings: off }, headers });
      expect(ended.status).toBe(200);
    }
  });

  it("is renamed, its settings merged and shown as strings", async () => {
    const first = await put({ name: "Näme ✓", settings: { fingerprint_tokens: "true" } });
    expect(first).toMatchObject({
      status: 200,
      body: { id: tenant.id, name: "Näme ✓", settings: { ...DEFAULTS, fingerprint_tokens: "true" } },
    });
    expect(first.body).toMatchObject({ modified_by: expect.any(String), modified_at: expect.stringMatching(TIME) });
    await put({ name: "Other", settings: { deduplicate_tokens: "true" } });
    const settings = { ...DEFAULTS, fingerprint_tokens: "true", deduplicate_tokens: "true" };
    expect((await tenant.manage("GET", "/tenants/self")).body).toMatchObject({ name: "Other", settings });
    expect((await put({ name: "Other" })).body.settings).toEqual(settings);
    expect((await put({ name: "Other", settings: {} })).body.settings).toEqual(settings);
    expect((await put({ name: "Other", settings: null })).body.settings).toEqual(settings);
  });

  it("accepts a name of 200 characters, counted as people do", async () => {
    const name = "👋".repeat(200);
    expect(await put({ name })).toMatchObject({ status: 200, body: { name } });
  });

  it("keeps every one of several concurrent changes", async () => {
    await put({ name: "Calm", settings: DEFAULTS });
    // No key switches the other one on.
    const settings = Object.keys(DEFAULTS).filter((name) => name !== "require_export_approval");
    const responses = await Promise.all(settings.map((name) => put({ name: "Raced", settings: { [name]: "true" } })));
    const served = settings.filter((_, index) => responses[index]?.status === 200);
    expect(served.length).toBeGreaterThan(0);
    const { body } = await tenant.manage("GET", "/tenants/self");
    for (const [index, name] of settings.entries()) {
      const status = responses[index]?.status;
      expect([200, 409]).toContain(status);
      expect(body.settings[name]).toBe(status === 200 ? "true" : "false");
    }
  });
});
