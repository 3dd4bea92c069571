import { beforeAll, describe, expect, it } from "vitest";
import { TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import type { RestRequest } from "../../support/rest.js";
import { RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const CARD = { type: "card", data: { number: "4242424242424242", cvc: "987" }, metadata: { order: "order-1001" } };

/** Everybody knows the key of a public application, so everybody may repeat its requests. */
describe("an idempotency key of a public application", () => {
  let tenant: TestTenant;
  let page: Awaited<ReturnType<TestTenant["application"]>>;
  beforeAll(async () => {
    tenant = await newTenant();
    page = await tenant.application({ type: "public", permissions: ["token:create", "token:update"] });
  });
  const only = (id: string) => ({ id, type: "card", tenant_id: tenant.id });
  const withKey = (key: string, request: RestRequest): RestRequest => ({
    ...request,
    headers: { ...request.headers, "BT-IDEMPOTENCY-KEY": key },
  });

  it.each([
    ["a create", "/tokens", CARD, (id: string) => ({ ...only(id), containers: [] })],
    ["tokenize", "/tokenize", CARD, only],
  ])("replays %s with id and type alone, whatever is sent", async (_, path, body, shown) => {
    const key = crypto.randomUUID();
    const first = await page("POST", path, withKey(key, { body }));
    expect(first.body).toMatchObject({ metadata: CARD.metadata, card: { last4: "4242" } });
    for (const request of [{ body }, { body: {} }, { raw: "{" }]) {
      const again = await page("POST", path, withKey(key, request));
      expect(again.headers.get("bt-idempotency-replayed")).toBe("true");
      expect(again.body).toEqual(shown(first.body.id));
    }
  });

  it("replays several tokens in the shape of the first response", async () => {
    const key = crypto.randomUUID();
    const body = { people: [{ card: CARD, name: "Ada" }], none: null };
    const first = (await page("POST", "/tokenize", withKey(key, { body }))).body;
    const [{ card, name }] = first.people;
    const again = await page("POST", "/tokenize", withKey(key, { body: {} }));
    expect(again.body).toEqual({ people: [{ card: only(card.id), name }], none: null });
  });

  it("replays a PATCH with id and type alone", async () => {
    const { id } = (await page("POST", "/tokens", { body: CARD })).body;
    const headers = { "Content-Type": "application/merge-patch+json" };
    const patch = withKey(crypto.randomUUID(), { headers, body: { metadata: { more: "x" } } });
    expect((await page("PATCH", `/tokens/${id}`, patch)).body).toMatchObject({ metadata: { more: "x" } });
    expect((await page("PATCH", `/tokens/${id}`, patch)).body).toEqual({ ...only(id), containers: [] });
  });

  it.each(RPC_PROTOCOLS)("replays id and type alone over %s", async (protocol) => {
    const headers = { "bt-idempotency-key": crypto.randomUUID() };
    const tokens = rpcClient(TokenService, protocol, { key: page.key, headers });
    const { id } = await tokens.createToken({
      type: "token",
      metadata: { a: "b" },
      data: { kind: { case: "numberValue", value: 1 } },
    });
    const again = await tokens.createToken({});
    expect(again).toMatchObject({ id, type: "token", tenantId: tenant.id, metadata: {}, containers: [] });
    expect([again.createdAt, again.createdBy, again.extras]).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ...[
      "order-1001",
      "k",
      "42".repeat(8),
      "1".repeat(255),
      "0123456789abcdef0123456789",
      "00000000-0000-4000-8000-000000000001",
    ],
    "abcabcabcabcabcabcabcabcabc",
  ])("is refused if it can be guessed, as %s can", async (key) => {
    const { status, body } = await page("POST", "/tokens", withKey(key, { body: { type: "token", data: 1 } }));
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: { "BT-IDEMPOTENCY-KEY": [expect.stringContaining("must hold 128 random bits")] },
    });
  });

  it("may be a UUID, a random text in hexadecimal or Base64, or have those after a name", async () => {
    const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(16)));
    const uuid = crypto.randomUUID();
    const withDashes = "q-7Xw-_R2-kLmZ9-bT4-Hg";
    const random = [uuid, uuid.toUpperCase(), bytes.toString("hex"), bytes.toString("base64url"), withDashes];
    const keys = [...random, `order-1-${uuid}`];
    for (const key of keys) {
      const made = await page("POST", "/tokens", withKey(key, { body: { type: "token", data: 1 } }));
      expect(made.status).toBe(201);
    }
  });
});
