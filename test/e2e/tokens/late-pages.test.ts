import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type RestClient, restClient } from "../../support/rest.js";
import { type ServerHere, startServerHere } from "../../support/server-here.js";
import { newTenant } from "../../support/tenant.js";

/** More than the first step of a walk compares, which is 1,000. */
const TOKENS = 1_100;
const SEEN = ["old-1", "old-2", "old-3"];

/** Lists whose time is always up: the clock of their walks goes on by 16 s whenever one reads it. */
describe("a list of few tokens among many, which runs out of time", () => {
  let server: ServerHere;
  let session: RestClient;

  beforeAll(async () => {
    server = await startServerHere({ RATE_LIMITS: "off" });
    const tenant = await newTenant(server.url, server.environment);
    const backEnd = await tenant.backEnd();
    const make = async (data: object) => expect((await backEnd("POST", "/tokenize", { body: data })).status).toBe(200);
    await make(SEEN.map((id) => ({ id, type: "token", data: "x", containers: ["/seen/"] })));
    for (let made = 0; made < TOKENS; made += 100) {
      await make(Array.from({ length: 100 }, (_, n) => ({ id: `hidden-${made + n}`, type: "token", data: "x" })));
    }
    const page = await tenant.application({ type: "public", permissions: ["token:create"] });
    const { session_key, nonce } = (await page("POST", "/sessions")).body;
    const conditions = [{ attribute: "id", operator: "starts_with", value: "old-" }];
    const rules = [{ priority: 1, conditions, transform: "mask", permissions: ["token:read"] }];
    expect((await backEnd("POST", "/sessions/authorize", { body: { nonce, rules } })).status).toBe(200);
    session = restClient(tenant.url, session_key);

    const real = performance.now.bind(performance);
    let late = 0;
    vi.spyOn(performance, "now").mockImplementation(() => {
      if (!new Error().stack?.includes("selected-keys")) return real();
      late += 16_000;
      return real() + late;
    });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await server?.[Symbol.asyncDispose]();
  });

  it("goes on from page to page by cursors, which name no token that the caller may not see", async () => {
    const found: string[] = [];
    const cursors: string[] = [];
    for (let start: string | undefined = ""; start !== undefined; ) {
      const { status, body } = await session("GET", `/v2/tokens?start=${start}`);
      expect(status).toBe(200);
      found.push(...body.data.map(({ id }: { id: string }) => id));
      start = body.pagination.next;
      if (start !== undefined) cursors.push(Buffer.from(start, "base64url").toString("latin1"));
    }
    expect(found.toSorted()).toEqual(SEEN);
    expect(cursors.length).toBeGreaterThan(0);
    expect(cursors.filter((cursor) => cursor.includes("hidden"))).toEqual([]);
  });

  it("gets a 503 for a page number, which comes with a total", async () => {
    expect((await session("GET", "/tokens")).status).toBe(503);
  });
});
