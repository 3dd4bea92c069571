import { beforeAll, describe, expect, it } from "vitest";
import type { RestClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { withoutIds } from "../../support/without-ids.js";

interface Log {
  readonly id: string;
  readonly tenant_id: string;
  readonly actor_id?: string;
  readonly actor_type?: string;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly operation: string;
  readonly message: string;
  readonly created_at: string;
}

const logsOf = async (tenant: TestTenant, query = ""): Promise<Log[]> => {
  const { status, body } = await tenant.manage("GET", `/logs?size=100${query}`);
  expect(status).toBe(200);
  return body.data;
};

describe("the log of a tenant", () => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly id: string };
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });
  /** The rows that an action writes, oldest first, as "entity operation". */
  const rowsOf = async (action: () => Promise<unknown>) => {
    const before = new Set((await logsOf(tenant)).map(({ id }) => id));
    await action();
    return (await logsOf(tenant)).filter(({ id }) => !before.has(id)).toReversed();
  };
  const brief = (rows: readonly Log[]) => rows.map(({ entity_type, operation }) => `${entity_type} ${operation}`);

  it("shows who did what to which token, and nothing of its content", async () => {
    const secret = "5555555555554444";
    const rows = await rowsOf(async () => {
      const created = await backEnd("POST", "/tokens", {
        body: { type: "card", id: "logged-card", data: { number: secret }, metadata: { m: "meta-secret" } },
      });
      await backEnd("GET", `/tokens/${created.body.id}`);
      await backEnd("POST", "/detokenize", { body: `{{ ${created.body.id} }}` });
      await backEnd("DELETE", `/tokens/${created.body.id}`);
    });
    expect(brief(rows)).toEqual(["card create", "card read", "card read", "card delete"]);
    for (const row of rows) {
      expect(row).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        tenant_id: tenant.id,
        actor_id: backEnd.id,
        actor_type: "application",
        entity_type: "card",
        entity_id: "logged-card",
        operation: expect.any(String),
        message: expect.stringMatching(/^Card (created|retrieved|deleted)$/),
        created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
        key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        source_ip: "127.0.0.1",
        client: "node",
        trace_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        outcome: "allowed",
        ...(row.operation === "read" ? { transform: "reveal" } : {}),
      });
      expect(withoutIds(row)).not.toMatch(/5555|4444|meta-secret/);
    }
  });

  it("has one row for each token of a tokenize, and for each distinct one of a detokenize", async () => {
    let ids: string[] = [];
    const made = await rowsOf(async () => {
      const body = ["a", { b: 2 }, { type: "bank", data: { routing_number: "021000021", account_number: "12345" } }];
      const response = await backEnd("POST", "/tokenize", { body });
      ids = [response.body[0], response.body[1].b, response.body[2].id];
    });
    expect(brief(made).toSorted()).toEqual(["bank create", "token create", "token create"]);
    expect(made.map(({ entity_id }) => entity_id).toSorted()).toEqual(ids.toSorted());
    const read = await rowsOf(() =>
      backEnd("POST", "/detokenize", { body: [...ids, ...ids].map((id) => `{{ ${id} }}`) }),
    );
    expect(read.map(({ entity_id }) => entity_id).toSorted()).toEqual(ids.toSorted());
  });

  it("has a row for each operation on applications, keys and the tenant", async () => {
    const rows = await rowsOf(async () => {
      const { id } = await tenant.application({ type: "private", permissions: ["token:read"] });
      await tenant.manage("GET", `/applications/${id}`);
      await tenant.manage("GET", "/applications");
      await tenant.manage("PUT", `/applications/${id}`, { body: { name: "x", permissions: ["token:read"] } });
      const key = await tenant.manage("POST", `/applications/${id}/keys`);
      await tenant.manage("GET", `/applications/${id}/keys`);
      await tenant.manage("GET", `/applications/${id}/keys/${key.body.id}`);
      await tenant.manage("DELETE", `/applications/${id}/keys/${key.body.id}`);
      await tenant.manage("DELETE", `/applications/${id}`);
      await tenant.manage("GET", "/tenants/self");
      await tenant.manage("PUT", "/tenants/self", { body: { name: "Test" } });
    });
    expect(brief(rows)).toEqual([
      ...["application create", "application_key create", "application read", "application list", "application update"],
      ...["application_key create", "application_key list", "application_key read", "application_key delete"],
      ...["application delete", "tenant read", "tenant update"],
    ]);
  });

  it("has a row for each refusal of a known key", async () => {
    const token = await backEnd("POST", "/tokens", { body: { type: "token", data: 1, containers: ["/hidden/"] } });
    const holder = await tenant.application({
      type: "private",
      rules: [{ priority: 1, container: "/a/", transform: "mask", permissions: ["token:read", "token:create"] }],
    });
    const rows = await rowsOf(async () => {
      expect((await holder("GET", `/tokens/${token.body.id}`)).status).toBe(403);
      expect((await holder("POST", "/detokenize", { body: `{{ ${token.body.id} }}` })).status).toBe(403);
      expect(
        (await holder("POST", "/tokens", { body: { type: "card", data: { number: "4242424242424242" } } })).status,
      ).toBe(403);
      expect((await holder("GET", "/applications")).status).toBe(403);
    });
    expect(rows.map((row) => [row.actor_id, row.operation, row.entity_type, row.message])).toEqual([
      [holder.id, "refuse", "token", "Token refused: token:read"],
      [holder.id, "refuse", "token", "Token refused: token:read"],
      [holder.id, "refuse", "card", "Card refused: token:create"],
      [holder.id, "refuse", "application", "Application refused: application:read"],
    ]);
    expect(rows[0]?.entity_id).toBe(token.body.id);
  });

  it("has none for invalid requests, missing entities, unknown keys and for itself", async () => {
    const rows = await rowsOf(async () => {
      const wrong = [
        await backEnd("POST", "/tokens", { body: { type: "nope", data: 1 } }),
        await backEnd("POST", "/tokens", { raw: "{" }),
        await backEnd("GET", "/tokens/not-there"),
        await backEnd("DELETE", "/tokens/not-there"),
        await backEnd("POST", "/detokenize", { body: "{{ not-there }}" }),
        await tenant.manage("GET", "/applications/nope"),
        await tenant.manage("GET", "/applications/01890000-0000-7000-8000-000000000000"),
        await backEnd("GET", "/tokens/abc", { key: "unknown" }),
        await backEnd("GET", "/tokens/abc", { key: undefined }),
        await backEnd("PUT", "/tokens"),
      ];
      expect(wrong.map(({ status }) => status)).toEqual([400, 400, 404, 404, 400, 400, 404, 401, 401, 405]);
      await tenant.manage("GET", "/logs");
      await tenant.manage("GET", "/logs/entity-types");
      await tenant.manage("GET", "/permissions");
    });
    expect(brief(rows)).toEqual([]);
  });

  it("has a row for each read of it, where the tenant's settings ask for that", async () => {
    const own = await newTenant();
    const set = (value: string) =>
      own.manage("PUT", "/tenants/self", { body: { name: "Own", settings: { record_log_reads: value } } });
    await own.manage("GET", "/logs");
    await set("true");
    await own.manage("GET", "/logs?size=1");
    await own.manage("GET", "/logs?entity_type=card");
    await own.manage("GET", "/logs?page=none");
    await set("false");
    await own.manage("GET", "/logs");
    const rows = (await logsOf(own)).slice(0, 4);
    expect(rows.map(({ message }) => message)).toEqual([
      "Tenant updated: record_log_reads off",
      "Log listed",
      "Log listed",
      "Tenant updated: record_log_reads on",
    ]);
    const row = {
      entity_type: "log",
      operation: "list",
      entity_id: "*",
      actor_type: "application",
      outcome: "allowed",
    };
    expect(rows[1]).toMatchObject({ ...row, key_id: expect.any(String) });
  });

  it("is invisible to other tenants", async () => {
    const other = await newTenant();
    expect((await logsOf(other)).every(({ tenant_id }) => tenant_id === other.id)).toBe(true);
    expect(await logsOf(other, "&entity_type=card")).toEqual([]);
  });

  it("names the kinds of entities", async () => {
    const { status, body } = await tenant.manage("GET", "/logs/entity-types");
    expect(status).toBe(200);
    expect(body).toEqual(
      expect.arrayContaining([
        { display_name: "Application", value: "application" },
        { display_name: "Bank", value: "bank" },
        { display_name: "Card", value: "card" },
        { display_name: "Proxy", value: "proxy" },
        { display_name: "Token", value: "token" },
        { display_name: "Tenant", value: "tenant" },
      ]),
    );
    const values = body.map(({ value }: { value: string }) => value);
    expect(values).toEqual(values.toSorted());
    for (const { entity_type } of await logsOf(tenant)) expect(values).toContain(entity_type);
  });
});

describe("the list of logs", () => {
  let tenant: TestTenant;
  let all: Log[];
  beforeAll(async () => {
    tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    for (const id of ["one", "two", "three"]) {
      await backEnd("POST", "/tokens", { body: { type: "token", id, data: id } });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await backEnd("GET", "/tokens/two");
    await backEnd("POST", "/tokens", { body: { type: "card", id: "four", data: { number: "4242424242424242" } } });
    // Many rows of one moment: pages must not lose or repeat any.
    await backEnd("POST", "/tokenize", { body: Array.from({ length: 20 }, (_, index) => index) });
    all = await logsOf(tenant);
  });

  it("is newest first", () => {
    const times = all.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(all.length).toBe(new Set(all.map(({ id }) => id)).size);
    expect(all.length).toBeGreaterThan(25);
  });

  it("is paged by cursor, each row once, and ends without a cursor", async () => {
    const walked: Log[] = [];
    let start = "";
    for (;;) {
      const { status, body } = await tenant.manage("GET", `/logs?size=7${start}`);
      expect(status).toBe(200);
      walked.push(...body.data);
      expect(body.pagination.page_size).toBe(7);
      expect(body.pagination.after).toBe(body.pagination.next);
      if (body.pagination.after === undefined) break;
      expect(body.data).toHaveLength(7);
      start = `&start=${encodeURIComponent(body.pagination.after)}`;
    }
    expect(walked).toEqual(all);
  });

  it("is paged by page number too, and is empty past its end", async () => {
    const walked: Log[] = [];
    for (let page = 1; ; page += 1) {
      const { status, body } = await tenant.manage("GET", `/logs?size=10&page=${page}`);
      expect(status).toBe(200);
      expect(body.pagination).toMatchObject({ page_size: 10, page_number: page });
      if (body.data.length === 0) break;
      walked.push(...body.data);
    }
    expect(walked).toEqual(all);
    expect((await tenant.manage("GET", "/logs?page=2147483647&size=100")).body.data).toEqual([]);
  });

  it("has pages of 20 by default", async () => {
    const { body } = await tenant.manage("GET", "/logs");
    expect(body.pagination).toMatchObject({ page_size: 20, page_number: 1 });
    expect(body.data).toEqual(all.slice(0, 20));
  });

  it("is stable while it is paged and grows", async () => {
    const own = await newTenant();
    const first = await own.manage("GET", "/logs?size=2");
    await own.manage("GET", "/tenants/self");
    await own.manage("GET", "/tenants/self");
    const second = await own.manage("GET", `/logs?size=2&start=${first.body.pagination.after}`);
    const ids = [...first.body.data, ...second.body.data].map(({ id }: Log) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(second.body.data[0].created_at <= first.body.data[1].created_at).toBe(true);
  });

  it("is filtered by the kind and the id of entities", async () => {
    const cards = await logsOf(tenant, "&entity_type=card");
    expect(cards.map(({ entity_id }) => entity_id)).toEqual(["four"]);
    const two = await logsOf(tenant, "&entity_id=two");
    expect(two.map(({ operation }) => operation)).toEqual(["read", "create"]);
    expect(await logsOf(tenant, "&entity_type=card&entity_id=two")).toEqual([]);
    expect(await logsOf(tenant, "&entity_type=nope")).toEqual([]);
  });

  it("finds tokens of every type under entity_type=token, in pages and by id", async () => {
    const tokens = all.filter(({ entity_type }) => ["token", "card"].includes(entity_type));
    expect(new Set(tokens.map(({ entity_type }) => entity_type))).toEqual(new Set(["token", "card"]));
    expect(await logsOf(tenant, "&entity_type=token")).toEqual(tokens);
    const walked: Log[] = [];
    for (let start = ""; ; ) {
      const { body } = await tenant.manage("GET", `/logs?size=7&entity_type=token${start}`);
      walked.push(...body.data);
      if (body.pagination.after === undefined) break;
      start = `&start=${encodeURIComponent(body.pagination.after)}`;
    }
    expect(walked).toEqual(tokens);
    const third = await tenant.manage("GET", "/logs?size=7&page=3&entity_type=token");
    expect(third.body.data).toEqual(tokens.slice(14, 21));
    const ofCard = await logsOf(tenant, "&entity_type=token&entity_id=four");
    expect(ofCard.map(({ entity_type, operation }) => [entity_type, operation])).toEqual([["card", "create"]]);
    const since = all.find(({ entity_id }) => entity_id === "three")?.created_at ?? "";
    expect(await logsOf(tenant, `&entity_type=token&start_date=${since}`)).toEqual(
      tokens.filter(({ created_at }) => created_at >= since),
    );
  });

  it("is filtered by time: from the start on, and before the end", async () => {
    const three = all.find(({ entity_id }) => entity_id === "three");
    const at = three?.created_at ?? "";
    const since = await logsOf(tenant, `&start_date=${at}`);
    expect(since).toEqual(all.filter(({ created_at }) => created_at >= at));
    const until = await logsOf(tenant, `&end_date=${at}`);
    expect(until).toEqual(all.filter(({ created_at }) => created_at < at));
    expect(await logsOf(tenant, `&start_date=${at}&end_date=${at}`)).toEqual([]);
    const offset = encodeURIComponent(at.replace("Z", "+00:00"));
    expect(await logsOf(tenant, `&start_date=${offset}`)).toEqual(since);
    expect(await logsOf(tenant, "&start_date=2020-01-01")).toEqual(all);
    expect(await logsOf(tenant, "&end_date=2020-01-01T00:00:00")).toEqual([]);
  });

  it("accepts a cursor only for the list that it was made for", async () => {
    const page = await tenant.manage("GET", "/logs?size=2&entity_type=token");
    const cursor: string = page.body.pagination.after;
    const follow = (client: RestClient, query: string) =>
      client("GET", `/logs?size=2&start=${encodeURIComponent(cursor)}${query}`);
    expect(await follow(tenant.manage, "&entity_type=token")).toMatchObject({ status: 200 });
    const other = await newTenant();
    const wrong = [
      await follow(tenant.manage, ""),
      await follow(tenant.manage, "&entity_type=card"),
      await follow(tenant.manage, "&entity_type=token&entity_id=two"),
      await follow(tenant.manage, "&entity_type=token&start_date=2020-01-01"),
      await follow(other.manage, "&entity_type=token"),
    ];
    for (const { status, body } of wrong) {
      expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: ["start"] });
    }
  });

  it("rejects a forged cursor", async () => {
    const page = await tenant.manage("GET", "/logs?size=2");
    const cursor: string = page.body.pagination.after;
    const bytes = Buffer.from(cursor, "base64url");
    const flipped = [0, 7, 8, 23, 24, bytes.length - 1].map((index) => {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ 1;
      return changed.toString("base64url");
    });
    for (const forged of [...flipped, "abc", "", "x".repeat(500), bytes.subarray(0, 24).toString("base64url")]) {
      const { status, body } = await tenant.manage("GET", `/logs?start=${forged}`);
      expect({ forged, status, fields: Object.keys(body.errors ?? {}) }).toEqual({
        forged,
        status: 400,
        fields: ["start"],
      });
    }
  });

  it.each([
    ["size=0", "size"],
    ["size=101", "size"],
    ["size=x", "size"],
    ["page=0", "page"],
    ["page=1e3", "page"],
    ["start_date=yesterday", "start_date"],
    ["end_date=2030-02-30", "end_date"],
    ["start_date=0000-01-01", "start_date"],
    ["end_date=9999-12-31T23:59:59-01:00", "end_date"],
    [`entity_id=${"x".repeat(401)}`, "entity_id"],
    [`entity_type=${"x".repeat(51)}`, "entity_type"],
    [`start=${"x".repeat(501)}`, "start"],
    ["entity_id=%00", "entity_id"],
  ])("rejects %s", async (query, field) => {
    const { status, body } = await tenant.manage("GET", `/logs?${query}`);
    expect({ status, fields: Object.keys(body.errors ?? {}) }).toEqual({ status: 400, fields: [field] });
  });
});
