import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Cloakroom, type Log } from "../../../clients/typescript/src/node.js";
import { newDirectory } from "../../support/new-directory.js";
import { type RestClient, restClient } from "../../support/rest.js";
import { startServerProcess } from "../../support/server.js";
import { openStored, type Stored } from "../../support/stored.js";
import { firstTenant, newTenant, type TestTenant } from "../../support/tenant.js";

const createToken = async (backEnd: RestClient): Promise<string> =>
  (await backEnd("POST", "/tokens", { body: { type: "token", data: "value" } })).body.id;

/** Takes items of a stream until one has this entity. */
async function until(rows: AsyncIterable<Log>, entityId: string): Promise<readonly Log[]> {
  const taken: Log[] = [];
  for await (const row of rows) {
    taken.push(row);
    if (row.entityId === entityId) break;
  }
  return taken;
}

describe.each(["grpc", "connect"] as const)("following the log over %s", (transport) => {
  let tenant: TestTenant;
  let backEnd: RestClient;
  const clientOf = (apiKey: string) => new Cloakroom({ baseUrl: tenant.url, apiKey, transport });
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });

  it("sends rows once they are committed, and those of the filter only", async () => {
    await using client = clientOf(tenant.managementKey);
    const rows = client.logs.follow({ entityType: "token" });
    const taken: Log[] = [];
    const reading = (async () => {
      for await (const row of rows) if (taken.push(row) === 3) break;
    })();
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    const ids = [await createToken(backEnd), await createToken(backEnd), await createToken(backEnd)];
    await tenant.application({ type: "public", permissions: ["token:create"] });
    await reading;
    expect(taken.map(({ entityId, operation }) => [entityId, operation])).toEqual(ids.map((id) => [id, "create"]));
    expect(taken[0]).toMatchObject({ tenantId: tenant.id, createdAt: expect.any(Date) });
  });

  it("continues behind a cursor, without a gap", async () => {
    await using client = clientOf(tenant.managementKey);
    const first = client.logs.follow();
    const reading = first[Symbol.asyncIterator]();
    const next = reading.next();
    await vi.waitFor(() => expect(first.cursor).toBeDefined());
    const one = await createToken(backEnd);
    expect((await next).value).toMatchObject({ entityId: one });
    await reading.return?.();
    const [two, three] = [await createToken(backEnd), await createToken(backEnd)];
    const taken = await until(client.logs.follow({ after: first.cursor }), three);
    expect(taken.map(({ entityId }) => entityId)).toEqual([one, two, three]);
  });

  it("leaves a row, where the tenant's settings ask for that", async () => {
    const set = (value: string) =>
      tenant.manage("PUT", "/tenants/self", { body: { name: "Test", settings: { record_log_reads: value } } });
    await set("true");
    await using client = clientOf(tenant.managementKey);
    const rows = client.logs.follow({ entityType: "tenant" });
    const reading = rows[Symbol.asyncIterator]();
    const next = reading.next();
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    const listed = async (): Promise<string[]> =>
      (await tenant.manage("GET", "/logs?entity_type=log&size=100")).body.data.map((row: Log) => row.message);
    expect(await listed()).toContain("Log listed: followed");
    await set("false");
    await next;
    await reading.return?.();
  });

  it("refuses a wrong cursor, and a key that may not read the log", async () => {
    await using client = clientOf(tenant.managementKey);
    expect(await failureOf(client.logs.follow({ after: "nonsense" }))).toMatchObject({
      code: "validation_failed",
      fields: { after: [expect.stringContaining("cursor")] },
    });
    const { key, id } = await tenant.backEnd();
    await using other = clientOf(key);
    expect(await failureOf(other.logs.follow())).toMatchObject({ code: "permission_denied" });
    const { body } = await tenant.manage("GET", `/logs?entity_id=${id}`);
    expect(body.data[0]).toMatchObject({ actor_id: id, message: expect.stringContaining("log:read") });
  });

  it("ends when the key is deleted", async () => {
    const reader = await tenant.application({ type: "management", permissions: ["log:read"] });
    await using client = clientOf(reader.key);
    const rows = client.logs.follow();
    const failure = failureOf(rows);
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    await tenant.manage("DELETE", `/applications/${reader.id}`);
    expect(await failure).toMatchObject({ code: "unauthenticated" });
  });

  it("ends at its signal", async () => {
    await using client = clientOf(tenant.managementKey);
    const ending = new AbortController();
    const rows = client.logs.follow({}, { signal: ending.signal });
    const failure = failureOf(rows);
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    ending.abort();
    expect(await failure).toMatchObject({ code: "canceled" });
  });

  it("is open ten times at most for an application, and again once one was left", async () => {
    const { key } = await tenant.application({ type: "management", permissions: ["log:read"] });
    await using client = clientOf(key);
    const streams = Array.from({ length: 10 }, () => client.logs.follow());
    // A stream has no cursor before its reader has taken the rows of the first message.
    const leaving = streams.map(async (rows) => {
      for await (const { entityType } of rows) if (entityType === "token") break;
    });
    await vi.waitFor(() => expect(streams.filter(({ cursor }) => cursor === undefined)).toEqual([]));
    expect(await failureOf(client.logs.follow())).toMatchObject({ code: "rate_limited" });
    await createToken(backEnd);
    await Promise.all(leaving);
    const rows = client.logs.follow();
    const reading = rows[Symbol.asyncIterator]();
    const next = reading.next();
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    await createToken(backEnd);
    expect(await next).toMatchObject({ done: false });
    await reading.return?.();
  });
});

describe("rows that commit later than their time", () => {
  let tenant: TestTenant;
  let stored: Stored;
  beforeAll(async () => {
    tenant = await newTenant();
    stored = await openStored();
  });
  afterAll(() => stored?.[Symbol.asyncDispose]());

  const insert = (id: string, secondsAgo: number): Promise<void> =>
    stored.change(
      tenant.id,
      `insert into audit_logs (tenant_id, created_at, id, entity_type, entity_id, operation, message, outcome)
       values ('${tenant.id}', clock_timestamp() - ${secondsAgo} * interval '1 second', '${randomUUID()}', 'token', '${id}',
         'create', 'late', 'allowed')`,
    );

  it("come once: within seconds of later rows, or else when their minute is closed", async () => {
    await using client = new Cloakroom({ baseUrl: tenant.url, apiKey: tenant.managementKey });
    const backEnd = await tenant.backEnd();
    const rows = client.logs.follow({ entityType: "token" });
    const ids: string[] = [];
    const reading = (async () => {
      for await (const { entityId } of rows) {
        ids.push(entityId);
        if (entityId === "end") break;
      }
    })();
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    const before = rows.cursor;
    const first = await createToken(backEnd);
    await vi.waitFor(() => expect(ids).toEqual([first]));
    await insert("late by 1 s", 1);
    await vi.waitFor(() => expect(ids).toEqual([first, "late by 1 s"]));
    // Beside rows of the future, those of now are late.
    await insert("ahead by 10 s", -10);
    await vi.waitFor(() => expect(ids.at(-1)).toBe("ahead by 10 s"));
    await insert("late by 10 s", 0);
    await insert("ahead by 11 s", -11);
    await vi.waitFor(() => expect(ids.at(-1)).toBe("ahead by 11 s"));
    expect(ids).not.toContain("late by 10 s");
    await stored.change(
      tenant.id,
      `update tenants set audit_closed_until = clock_timestamp() where tenant_id = '${tenant.id}'`,
    );
    await vi.waitFor(() => expect(ids.at(-1)).toBe("late by 10 s"));
    await vi.waitFor(() => expect(rows.cursor).not.toBe(before));
    await insert("end", -12);
    await reading;
    expect(ids).toEqual([first, "late by 1 s", "ahead by 10 s", "ahead by 11 s", "late by 10 s", "end"]);
  });
});

describe("a server that ends", () => {
  it.each([
    ["SIGTERM", 0],
    ["SIGKILL", null],
  ] as const)("by %s ends its streams at once, and the client continues at the next one", async (signal, code) => {
    const port = await freePort();
    const directory = newDirectory();
    const settings = { DATA_DIR: join(directory, "data"), PORT: String(port) };
    const server = await startServerProcess(settings);
    const tenant = await firstTenant(server);
    const backEnd = await tenant.backEnd();
    await using client = new Cloakroom({ baseUrl: server.url, apiKey: tenant.managementKey });
    const rows = client.logs.follow({ entityType: "token" });
    const taken: string[] = [];
    const reading = (async () => {
      for await (const { entityId } of rows) if (taken.push(entityId) === 2) break;
    })();
    await vi.waitFor(() => expect(rows.cursor).toBeDefined());
    const one = await createToken(backEnd);
    await vi.waitFor(() => expect(taken).toEqual([one]));
    expect(await server.stop(signal)).toBe(code);
    // Requests in flight have 25 s. A stream is not waited for.
    expect(server.said()).not.toContain("stopping: requests were cut off");
    await using next = await startServerProcess(settings);
    const two = await createToken(restClient(next.url, backEnd.key));
    await reading;
    expect(taken).toEqual([one, two]);
  });
});

describe("cloakroom logs --follow", () => {
  it("prints rows as lines of JSON, and the cursor at Ctrl-C", async () => {
    const tenant = await newTenant();
    const backEnd = await tenant.backEnd();
    const child = spawn(
      process.execPath,
      ["dist/src/main.js", "logs", "--follow", "--entity-type", "token", "--json"],
      {
        env: { PATH: process.env.PATH, CLOAKROOM_URL: tenant.url, CLOAKROOM_API_KEY: tenant.managementKey },
      },
    );
    let [printed, said] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk;
    });
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk;
    });
    // The stream begins at some moment: rows of earlier ones are not printed.
    await vi.waitFor(
      async () => {
        await createToken(backEnd);
        expect(printed).toContain("\n");
      },
      { interval: 1_000 },
    );
    const [line = ""] = printed.split("\n");
    expect(JSON.parse(line)).toMatchObject({ operation: "create", tenant_id: tenant.id });
    child.kill("SIGINT");
    const [code] = await once(child, "close");
    expect({ code, said }).toEqual({ code: 130, said: expect.stringMatching(/^Continue with --after \S+\n/) });
  });
});

/** What ends a stream. */
async function failureOf(rows: AsyncIterable<Log>): Promise<unknown> {
  try {
    for await (const _ of rows);
    return undefined;
  } catch (error) {
    return error;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the server listens on no port");
  return address.port;
}
