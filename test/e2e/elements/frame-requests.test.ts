import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { TokenizeService, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { frameHeader, keyNameOf } from "../../support/frame-pass.js";
import { type RestClient, type RestResponse, restClient } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const url = inject("serverUrl");
const SHOP = "https://shop.example.com";
const NUMBER = "4242420000004242";
const CARD = { number: "4242424242424242", expiration_month: 7, expiration_year: 2031, cvc: "123" };

let tenant: TestTenant;
let backEnd: RestClient;
let shop: Shop;
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  shop = await newShop();
});

interface Shop {
  readonly id: string;
  readonly key: string;
  /** As a script of the page calls, with the key alone. */
  readonly page: RestClient;
  /** As the controller's document of one frame calls. */
  frame(): Promise<RestClient>;
}

const TEMPLATES = [
  {
    name: "masked",
    mask: { number: "{{ data.number | reveal_last: 4 }}" },
    search_indexes: ["{{ data.number | last4 }}"],
  },
  { name: "named", id: "{{ data.number | alias_preserve_length: 6, 4 }}" },
  { name: "once", deduplicate_token: true },
  {
    name: "odd",
    search_indexes: ["{{ data.none }}", "{{ data.n }}"],
    id: "{{ data.none }}",
    fingerprint_expression: "{{ data.none }}",
    deduplicate_token: true,
  },
];

async function newShop(definition: object = {}): Promise<Shop> {
  const given = {
    name: "Shop",
    type: "public",
    permissions: ["token:create", "token:update"],
    allowed_origins: [SHOP],
  };
  const { body, status } = await tenant.manage("POST", "/applications", {
    body: { ...given, templates: TEMPLATES, ...definition },
  });
  expect([status, body.errors]).toEqual([201, undefined]);
  const page = restClient(url, body.key);
  return {
    id: body.id,
    key: body.key,
    page,
    async frame() {
      const header = await frameHeader(url, body.key, SHOP);
      return (method, path, request = {}) =>
        page(method, path, { ...request, headers: { ...header, ...request.headers } });
    },
  };
}

const post = (client: RestClient, path: string, body: unknown, headers: Record<string, string> = {}) =>
  client("POST", path, { body, headers });
/** Parts of a problem that name the request. */
const OF_ONE = { trace_id: "", instance: "" };
const refused = ({ status, body }: RestResponse) => [status, body.code];

describe("the key of an application with allowed origins, alone", () => {
  it("creates neither tokens nor sessions, and changes nothing, on each face", async () => {
    const body = { type: "token", data: "x" };
    for (const path of ["/tokens", "/tokenize", "/sessions", "/tokens/search", "/detokenize"]) {
      const response = await post(shop.page, path, body);
      expect([path, ...refused(response)]).toEqual([path, 403, "permission_denied"]);
      expect(response.body.detail).toContain("allowed_origins: its keys work in hosted fields only");
    }
    expect(refused(await shop.page("PATCH", "/tokens/x", { body: {} }))).toEqual([403, "permission_denied"]);
    const options = { baseUrl: url, interceptors: [] };
    const transports = [
      createConnectTransport({ ...options, httpVersion: "1.1" }),
      createConnectTransport({ ...options, httpVersion: "2" }),
      createGrpcTransport(options),
      createGrpcWebTransport({ ...options, httpVersion: "2" }),
    ];
    const headers = { "BT-API-KEY": shop.key };
    for (const transport of transports) {
      const value = { kind: { case: "stringValue" as const, value: "x" } };
      await expect(createClient(TokenizeService, transport).tokenize({ value }, { headers })).rejects.toThrow(
        "allowed_origins",
      );
      await expect(
        createClient(TokenService, transport).createToken({ type: "token", data: value }, { headers }),
      ).rejects.toThrow("allowed_origins");
    }
  });

  it("does not reach a proxy, also one that needs no key", async () => {
    const proxy = { name: "Open", destination_url: "https://example.com", require_auth: false };
    const { body } = await tenant.manage("POST", "/proxies", { body: proxy });
    const headers = { "BT-PROXY-KEY": body.key };
    const direct = { "BT-PROXY-URL": "https://example.com" };
    for (const client of [shop.page, await shop.frame()]) {
      for (const named of [headers, direct]) {
        const response = await client("POST", "/proxy", { body: {}, headers: named });
        expect([response.status, JSON.stringify(response.body)]).toEqual([
          403,
          expect.stringContaining("its keys work in hosted fields only"),
        ]);
      }
    }
  });

  it("has a new template at once in its frames", async () => {
    const own = await newShop();
    const frame = await own.frame();
    const token = { type: "token", data: "x" };
    expect((await post(frame, "/tokens", { ...token, template: "once" })).status).toBe(201);
    const body = {
      name: "Shop",
      ...{ permissions: ["token:create"], allowed_origins: [SHOP], templates: [...TEMPLATES, { name: "new" }] },
    };
    expect((await tenant.manage("PUT", `/applications/${own.id}`, { body })).status).toBe(200);
    expect((await post(frame, "/tokens", { ...token, template: "new" })).status).toBe(201);
  });

  it("learns what depends on no value", async () => {
    expect((await shop.page("GET", "/applications/key")).body).toMatchObject({ id: shop.id, templates: TEMPLATES });
    expect((await shop.page("GET", "/permissions")).status).toBe(200);
  });

  it("works without frames where the owner allows it, and frames stay strict", async () => {
    const open = await newShop({ allow_page_requests: true });
    const expression = { type: "token", data: { n: NUMBER }, mask: { n: "{{ data.n }}" }, deduplicate_token: true };
    expect((await post(open.page, "/tokens", expression)).body.data).toEqual({ n: NUMBER });
    expect((await post(open.page, "/sessions", {})).status).toBe(201);
    const response = await post(await open.frame(), "/tokens", expression);
    expect([response.status, Object.keys(response.body.errors)]).toEqual([400, ["mask"]]);
    const { body } = await tenant.manage("GET", `/applications/${open.id}`);
    expect(body.allow_page_requests).toBe(true);
    const definition = { name: "Shop", permissions: ["token:create"], allow_page_requests: false };
    await tenant.manage("PUT", `/applications/${open.id}`, { body: definition });
    expect(refused(await post(open.page, "/tokens", expression))).toEqual([403, "permission_denied"]);
  });

  it("is refused by no rights that have changed since", async () => {
    const changed = await newShop();
    const token = { type: "token", data: "x" };
    const set = (properties: object) =>
      tenant.manage("PUT", `/applications/${changed.id}`, {
        body: { name: "Shop", permissions: ["token:create"], ...properties },
      });
    expect((await post(changed.page, "/tokens", token)).status).toBe(403);
    await set({ allow_page_requests: true });
    expect((await post(changed.page, "/tokens", token)).status).toBe(201);
    const header = await frameHeader(url, changed.key, "https://new.example.com");
    expect((await post(changed.page, "/tokens", token, header)).status).toBe(403);
    await set({ allowed_origins: ["https://new.example.com"] });
    expect((await post(changed.page, "/tokens", token, header)).status).toBe(201);
  });

  it("works without allowed origins", async () => {
    const plain = await newShop({ allowed_origins: [] });
    expect((await post(plain.page, "/tokens", { type: "token", data: "x" })).status).toBe(201);
    const named = await post(plain.page, "/tokens", { type: "token", data: "x", template: "masked" });
    expect([named.status, named.body.errors]).toEqual([400, { template: ["is for hosted fields, which send a pass"] }]);
  });
});

describe("a request under a pass", () => {
  it.each([
    ["id", { id: "{{ data.number | append: 'zzzz' | alias_preserve_length: 32, 0 }}" }],
    ["id", { id: "my-own-id" }],
    ["mask", { mask: { n: "{{ data.number }}" } }],
    ["search_indexes", { search_indexes: ["{{ data.number | slice: 8, 1 | remove: '3' }}"] }],
    ["fingerprint_expression", { fingerprint_expression: "{{ data.number | slice: 8, 1 }}" }],
    ["deduplicate_token", { deduplicate_token: true }],
    ["deduplicate_token", { deduplicate_token: false }],
    ["template", { template: "none" }],
  ])("cannot choose %s", async (field, chosen) => {
    const frame = await shop.frame();
    const token = { type: "card", data: CARD, ...chosen };
    for (const response of [await post(frame, "/tokens", token), await post(frame, "/tokenize", token)]) {
      expect([response.status, Object.keys(response.body.errors)]).toEqual([400, [field]]);
    }
    const nested = await post(frame, "/tokenize", { a: [{ b: token }] });
    expect([nested.status, Object.keys(nested.body.errors)]).toEqual([400, [`a[0].b.${field}`]]);
  });

  it("may hold what is not of the value, and shows as much", async () => {
    const token = {
      ...{ type: "card", data: CARD, metadata: { order: "7" }, containers: ["/pci/high/"] },
      ...{ expires_at: "2099-01-01T00:00:00Z" },
    };
    const frame = await shop.frame();
    const shown = {
      ...{ id: expect.any(String), tenant_id: tenant.id, type: "card", containers: ["/pci/high/"] },
      ...{ metadata: { order: "7" }, expires_at: "2099-01-01T00:00:00.000Z" },
      ...{ created_by: shop.id, created_at: expect.any(String) },
      card: { bin: "42424242", last4: "4242", expiration_month: 7, expiration_year: 2031, brand: "visa" },
    };
    const { status, body } = await post(frame, "/tokens", token);
    expect([status, body]).toEqual([201, shown]);
    const all = await post(frame, "/tokenize", { card: token, other: "x" });
    expect([all.status, all.body]).toEqual([200, { card: shown, other: expect.any(String) }]);
    expect((await backEnd("GET", `/tokens/${body.id}`)).body.data.cvc).toBe("123");
  });

  it("keeps a verification code only in a card", async () => {
    const frame = await shop.frame();
    const bodies = [
      [{ type: "token", data: { n: NUMBER, cvc: "123" } }, "data.cvc"],
      [{ type: "token", data: { n: NUMBER, card_cvc: "123" } }, "data.card_cvc"],
      [{ type: "token", data: { a: [{ "Security-Code": "123" }] } }, "data.a[0].Security-Code"],
      [{ type: "card", data: { ...CARD, cvv: "123" } }, "data.cvv"],
      [{ card: { cvc: "123" } }, "card.cvc"],
      [{ cvv2: ["123"] }, "cvv2"],
    ] as const;
    for (const [body, field] of bodies) {
      const response = await post(frame, "/tokenize", body);
      expect([response.status, response.body.errors]).toEqual([
        400,
        { [field]: [expect.stringContaining("must not hold a verification code")] },
      ]);
    }
  });

  it("learns of an invalid value only that it is not valid", async () => {
    const frame = await shop.frame();
    const of = async (data: object) => (await post(frame, "/tokens", { type: "card", data })).body;
    const [wrong, long] = [
      await of({ ...CARD, number: "4242424242424241" }),
      await of({ ...CARD, number: "42".repeat(10) }),
    ];
    expect(wrong.errors).toEqual({ "data.number": ["is not valid"] });
    expect({ ...long, ...OF_ONE }).toEqual({ ...wrong, ...OF_ONE });
  });

  it("is neither deduplicated by the tenant's setting, nor by any value of its own", async () => {
    const settings = { deduplicate_tokens: true, fingerprint_tokens: true };
    const { body: current } = await tenant.manage("GET", "/tenants/self");
    await tenant.manage("PUT", "/tenants/self", { body: { name: current.name, settings } });
    const frame = await shop.frame();
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await post(frame, "/tokens", { type: "card", data: CARD })).body),
    );
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
    for (const body of ids) expect(body).not.toHaveProperty("_extras");
    await tenant.manage("PUT", "/tenants/self", {
      body: { name: current.name, settings: { deduplicate_tokens: false } },
    });
  });

  it("is refused from another site, and without the frame's own key, origin or method", async () => {
    const frame = await shop.frame();
    const body = { type: "token", data: "x" };
    for (const site of ["cross-site", "same-site", "none"]) {
      expect(refused(await post(frame, "/tokens", body, { "Sec-Fetch-Site": site }))).toEqual([
        403,
        "permission_denied",
      ]);
    }
    expect((await post(frame, "/tokens", body, { "Sec-Fetch-Site": "same-origin" })).status).toBe(201);
    const preflight = await fetch(`${url}/tokens`, {
      method: "OPTIONS",
      headers: {
        ...{ Origin: "https://evil.example", "Access-Control-Request-Method": "POST" },
        "Access-Control-Request-Headers": "bt-api-key,Cloakroom-Frame,content-type",
      },
    });
    expect(preflight.headers.get("access-control-allow-headers") ?? "").not.toMatch(/cloakroom-frame/i);
    for (const [method, path] of [
      ["PATCH", "/tokens/x"],
      ["GET", "/tokens/x"],
      ["DELETE", "/tokens/x"],
      ["GET", "/tokens"],
    ] as const) {
      expect([path, (await frame(method, path, method === "PATCH" ? { body: {} } : {})).body.detail]).toEqual([
        path,
        expect.stringMatching(/^Hosted fields/),
      ]);
    }
  });
});

describe("a template", () => {
  it("gives a token its attributes, which the page does not see", async () => {
    const frame = await shop.frame();
    const { body } = await post(frame, "/tokens", { type: "card", data: CARD, template: "masked" });
    expect(body).not.toHaveProperty("mask");
    expect(body).not.toHaveProperty("card");
    const { body: stored } = await backEnd("GET", `/tokens/${body.id}`);
    expect(stored).toMatchObject({ mask: TEMPLATES[0]?.mask, search_indexes: TEMPLATES[0]?.search_indexes });
    const named = await post(frame, "/tokens", { type: "card", data: CARD, template: "named" });
    expect(named.body.id).toMatch(/^424242[0-9a-z]{6}4242$/);
  });

  it("finds equal values if it deduplicates", async () => {
    const frame = await shop.frame();
    const token = { type: "card", data: { ...CARD, number: "4000056655665556" }, template: "once" };
    const [first, second] = [await post(frame, "/tokens", token), await post(frame, "/tokens", token)];
    expect(first.body).not.toHaveProperty("_extras");
    expect(second.body).toMatchObject({ id: first.body.id, _extras: { deduplicated: true } });
    expect(second.body).not.toHaveProperty("fingerprint");
  });

  it("never fails because of the value", async () => {
    const frame = await shop.frame();
    const token = { type: "token", data: { n: "x" }, template: "odd" };
    const made = [await post(frame, "/tokens", token), await post(frame, "/tokens", token)];
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
    const [id, other] = made.map(({ body }) => body.id);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(other).not.toBe(id);
    const { body } = await backEnd("GET", `/tokens/${id}`);
    expect(body.search_indexes).toEqual(["{{ data.n }}"]);
    expect(
      (
        await backEnd("PATCH", `/tokens/${id}`, {
          raw: JSON.stringify({ data: { n: "y" } }),
          headers: { "Content-Type": "application/merge-patch+json" },
        })
      ).status,
    ).toBe(200);
  });
});

describe("an idempotency key", () => {
  it("belongs to the pass: neither the page nor another frame gets the response of a frame", async () => {
    const open = await newShop({ allow_page_requests: true });
    const key = { "BT-IDEMPOTENCY-KEY": "order-17" };
    const frame = await open.frame();
    const token = { type: "card", data: CARD, template: "masked" };
    const first = await post(frame, "/tokenize", token, key);
    const again = await post(frame, "/tokenize", {}, key);
    expect(again.headers.get("bt-idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    for (const other of [open.page, await open.frame()]) {
      const response = await post(other, "/tokenize", {}, key);
      expect(response.headers.get("bt-idempotency-replayed")).toBeNull();
      expect(JSON.stringify(response.body)).not.toContain(first.body.id);
    }
    const session = await post(frame, "/sessions", {}, key);
    for (const other of [open.page, await open.frame()]) {
      expect((await post(other, "/sessions", {}, key)).body.session_key).not.toBe(session.body.session_key);
    }
  });
});

describe("a session of a frame", () => {
  const rules = [{ priority: 1, container: "/", transform: "reveal", permissions: ["token:read"] }];
  const authorize = (nonce: string, more: object = {}) =>
    post(backEnd, "/sessions/authorize", { nonce, rules, ...more });

  it("works in this frame only, and only for what frames do", async () => {
    const frame = await shop.frame();
    const { body: card } = await post(frame, "/tokens", { type: "card", data: CARD });
    const { body: session } = await post(frame, "/sessions", {});
    expect((await authorize(session.nonce, { frame_required: true })).status).toBe(200);
    const key = session.session_key;
    const read = (client: RestClient) => client("GET", `/tokens/${card.id}`, { key });
    expect((await read(frame)).body.data).toMatchObject({ number: CARD.number });
    for (const other of [shop.page, await shop.frame(), restClient(url)]) {
      expect(refused(await read(other))).toEqual([403, "permission_denied"]);
    }
    expect(refused(await frame("POST", "/detokenize", { key, body: `{{ ${card.id} }}` }))).toEqual([
      403,
      "permission_denied",
    ]);
    const proxied = { body: {}, headers: { "BT-PROXY-URL": "https://example.com" } };
    expect((await restClient(url, key)("POST", "/proxy", proxied)).status).toBe(403);
    expect(refused(await frame("GET", "/tokens", { key }))).toEqual([403, "permission_denied"]);
  });

  it("differs from a page's for who authorizes it", async () => {
    const plain = await newShop({ allowed_origins: [] });
    const { body: own } = await post(plain.page, "/sessions", {});
    const response = await authorize(own.nonce, { frame_required: true });
    expect([...refused(response), response.body.detail]).toEqual([
      ...[403, "permission_denied"],
      "No hosted field created this session: its key may be known to a page or to others.",
    ]);
    expect(refused(await authorize(own.nonce, { frame_address: "127.0.0.1" }))).toEqual([403, "permission_denied"]);
    expect((await authorize(own.nonce)).status).toBe(200);
  });

  it("differs from that of a server elsewhere by the person's address", async () => {
    const frame = await shop.frame();
    const nonceOf = async () => (await post(frame, "/sessions", {})).body.nonce;
    const nonce = await nonceOf();
    const other = await authorize(nonce, { frame_address: "203.0.113.7" });
    expect([...refused(other), other.body.detail]).toEqual([
      ...[403, "permission_denied"],
      "The session was created from another network than that of frame_address.",
    ]);
    expect((await authorize(nonce, { frame_address: "::ffff:127.0.0.9" })).status).toBe(200);
    const wrong = await authorize(await nonceOf(), { frame_address: "localhost" });
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([400, ["frame_address"]]);
  });
});

describe("a pass", () => {
  it("is in no response that a script of the page can read, also in a browser without Fetch Metadata", async () => {
    const name = keyNameOf(shop.key);
    const document = await fetch(`${url}/elements/v1/frame?key=${name}&type=controller`, { headers: { Origin: SHOP } });
    expect([document.status, document.headers.get("access-control-allow-origin")]).toEqual([200, null]);
    const header = await frameHeader(url, shop.key, SHOP);
    const headers = { ...header, Origin: SHOP, "Sec-Fetch-Site": "same-origin" };
    const renewed = await fetch(`${url}/elements/v1/pass`, { method: "POST", headers });
    expect([renewed.status, renewed.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });
});

describe("the renewal of a pass", () => {
  const renew = (headers: Record<string, string>) =>
    restClient(url)("POST", "/elements/v1/pass", { headers: { "Sec-Fetch-Site": "same-origin", ...headers } });

  it("gives the document of the frame the same identity for longer", async () => {
    const header = await frameHeader(url, shop.key, SHOP);
    const askedAt = Date.now();
    const { status, body, headers } = await renew(header);
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(Date.parse(body.expires_at)).toBeGreaterThan(askedAt + 14 * 60_000);
    const [, name, origin] = header["Cloakroom-Frame"]?.split(" ") ?? [];
    const token = { type: "token", data: "x" };
    const key = { "BT-IDEMPOTENCY-KEY": "order-18" };
    const first = await post(shop.page, "/tokens", token, { ...header, ...key });
    const next = { "Cloakroom-Frame": `${body.pass} ${name} ${origin}` };
    expect((await post(shop.page, "/tokens", token, { ...next, ...key })).body).toEqual(first.body);
  });

  it("is for a document of the vault with a pass", async () => {
    const header = await frameHeader(url, shop.key, SHOP);
    for (const site of ["cross-site", "same-site", "none", ""]) {
      expect(refused(await renew({ ...header, "Sec-Fetch-Site": site }))).toEqual([403, "permission_denied"]);
    }
    for (const headers of [{}, { "Cloakroom-Frame": "x y z" }]) {
      const answer = await renew(headers);
      expect(refused(answer)).toEqual([400, "validation_failed"]);
      expect(Object.keys(answer.body.errors)).toEqual(["cloakroom-frame"]);
    }
    const [pass = "", name = "", origin = ""] = header["Cloakroom-Frame"]?.split(" ") ?? [];
    const forged = `${pass.slice(0, -22)}${"A".repeat(22)}`;
    expect(refused(await renew({ "Cloakroom-Frame": `${forged} ${name} ${origin}` }))).toEqual([
      401,
      "unauthenticated",
    ]);
  });
});
