import { isMessage } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, it } from "vitest";
import {
  ApplicationKeyService,
  ApplicationService,
  PermissionService,
} from "../../../gen/cloakroom/v1/applications_pb.js";
import { LogService } from "../../../gen/cloakroom/v1/logs_pb.js";
import { TenantService } from "../../../gen/cloakroom/v1/tenants_pb.js";
import { TokenizeService, TokenSchema, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toJson, toValue } from "../../../src/services/value.js";
import type { RestClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const card = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030, cvc: "123" };
const masked = { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2030 };

describe.each(RPC_PROTOCOLS)("over %s", (protocol) => {
  let tenant: TestTenant;
  let backEnd: RestClient & { readonly key: string; readonly id: string };
  beforeAll(async () => {
    tenant = await newTenant();
    backEnd = await tenant.backEnd();
  });

  it("a token is created, read, and deleted, and is the same over REST", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const created = await tokens.createToken({
      type: "card",
      data: toValue(card),
      containers: ["/Mine/"],
      metadata: { order: "7" },
      expiresAt: "9/27/2030",
    });
    expect(isMessage(created, TokenSchema)).toBe(true);
    const read = await tokens.getToken({ id: created.id });
    for (const token of [created, read]) {
      expect(token).toMatchObject({
        ...{
          tenantId: tenant.id,
          type: "card",
          containers: ["/mine/"],
          metadata: { order: "7" },
          createdBy: backEnd.id,
        },
        ...{ expiresAt: "2030-09-27T00:00:00.000Z", fingerprintExpression: "{{ data.number }}", searchIndexes: [] },
        card: { bin: "42424242", last4: "4242", expirationMonth: 12, expirationYear: 2030, brand: "visa" },
      });
      expect(token.data && toJson(token.data, "data")).toEqual(token === read ? card : masked);
      expect(token.mask && toJson(token.mask, "mask")).toEqual(masked);
    }
    const rest = await backEnd("GET", `/tokens/${created.id}`);
    expect(rest.body).toMatchObject({ id: created.id, data: card, mask: masked, metadata: { order: "7" } });
    expect(read.createdAt && timestampDate(read.createdAt).toISOString()).toBe(rest.body.created_at);

    await tokens.deleteToken({ id: created.id });
    expect(await failureOf(tokens.getToken({ id: created.id }))).toMatchObject({ code: "NotFound" });
    expect(await backEnd("GET", `/tokens/${created.id}`)).toMatchObject({ status: 404 });
  });

  it("responses of writes are masked even if the rule reveals", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const tokenize = rpcClient(TokenizeService, protocol, { key: backEnd.key });
    const deduplicated = { type: "card", data: toValue(card), deduplicateToken: true };
    const created = await tokens.createToken(deduplicated);
    const paths = { updateMask: { paths: ["metadata"] } };
    const responses = {
      created,
      again: await tokens.createToken(deduplicated),
      patched: await tokens.updateToken({ id: created.id, metadata: toValue({ a: "b" }), ...paths }),
      untouched: await tokens.updateToken({ id: created.id, metadata: toValue({}), ...paths }),
    };
    for (const [name, { id, data, mask }] of Object.entries(responses)) {
      expect(id, name).toBe(created.id);
      expect(data && toJson(data, "data"), name).toEqual(masked);
      expect(mask && toJson(mask, "mask"), name).toEqual(masked);
    }
    const item = { type: "card", data: card, deduplicate_token: true };
    const { value } = await tokenize.tokenize({
      value: toValue({ list: [item], other: { type: "card", data: card } }),
    });
    const tokenized = value && toJson(value, "value");
    expect(tokenized).toMatchObject({
      list: [{ id: created.id, data: masked }],
      other: { data: masked, mask: masked },
    });
    expect(JSON.stringify(tokenized)).not.toContain(card.number);
    await tokens.deleteToken({ id: created.id });
  });

  it("a caller with limited permissions sees masks", async () => {
    const { key } = await tenant.application({ type: "private", permissions: ["token:create", "token:read"] });
    const tokens = rpcClient(TokenService, protocol, { key });
    const { id, data } = await tokens.createToken({ type: "card", data: toValue(card) });
    expect(data && toJson(data, "data")).toEqual(masked);
    const read = await tokens.getToken({ id });
    expect(read.data && toJson(read.data, "data")).toEqual(masked);
    const plain = await tokens.createToken({ type: "token", data: toValue("secret") });
    expect(plain.data).toBeUndefined();
  });

  it("every kind of value is returned unchanged", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const value = { "": [null, true, false, 0, -1.5, 1e21, "", "👋\u0000"], nested: [[], {}, [{}]], __proto__x: 1 };
    const { id } = await tokens.createToken({ type: "token", data: toValue(value) });
    const { data } = await tokens.getToken({ id });
    expect(data && toJson(data, "data")).toEqual(value);
  });

  it("JSON is tokenized and detokenized", async () => {
    const tokenize = rpcClient(TokenizeService, protocol, { key: backEnd.key });
    const made = await tokenize.tokenize({
      value: toValue({ name: "Ada", none: null, card: { type: "card", data: card } }),
    });
    const body = made.value && toJson(made.value, "value");
    expect(body).toMatchObject({ name: expect.stringMatching(/^[0-9a-f-]{36}$/), none: null, card: { data: masked } });
    const name = Object(body).name;
    const back = await tokenize.detokenize({ value: toValue({ greeting: `Dear {{ ${name} }}` }) });
    expect(back.value && toJson(back.value, "value")).toEqual({ greeting: "Dear Ada" });
  });

  it("applications, keys, the tenant and the log are managed", async () => {
    const key = tenant.managementKey;
    const applications = rpcClient(ApplicationService, protocol, { key });
    const rules = [{ priority: 1, container: "/A/", transform: "mask", permissions: ["token:read"] }];
    const created = await applications.createApplication({ name: "App", type: "private", rules });
    expect(created).toMatchObject({
      name: "App",
      key: expect.stringMatching(/^key_prod_pvt_/),
      rules: [{ container: "/a/" }],
    });
    const changed = await applications.updateApplication({
      id: created.id,
      name: "New",
      permissions: ["token:create"],
    });
    expect(changed).toMatchObject({ name: "New", permissions: ["token:create"], rules: [] });
    expect(changed.key).toBeUndefined();
    const listed = await applications.listApplications({ id: [created.id], size: 1 });
    expect(listed).toMatchObject({ pagination: { totalItems: 1, pageNumber: 1, pageSize: 1, totalPages: 1 } });
    expect(listed.data).toEqual([await applications.getApplication({ id: created.id })]);

    const keys = rpcClient(ApplicationKeyService, protocol, { key });
    const made = await keys.createApplicationKey({ id: created.id });
    const own = rpcClient(ApplicationService, protocol, { ...(made.key === undefined ? {} : { key: made.key }) });
    expect(await own.getApplicationByKey({})).toMatchObject({ id: created.id });
    expect((await keys.listApplicationKeys({ id: created.id })).data.map(({ id }) => id)).toContain(made.id);
    await keys.deleteApplicationKey({ id: created.id, keyId: made.id });
    expect(await failureOf(own.getApplicationByKey({}))).toMatchObject({ code: "Unauthenticated" });
    await applications.deleteApplication({ id: created.id });
    expect(await failureOf(applications.getApplication({ id: created.id }))).toMatchObject({ code: "NotFound" });

    const permissions = await rpcClient(PermissionService, protocol, { key }).listPermissions({
      applicationType: "public",
    });
    expect(permissions.data.map(({ type }) => type)).toContain("token:create");
    const tenants = rpcClient(TenantService, protocol, { key });
    expect(await tenants.updateTenant({ name: "RPC", settings: { fingerprint_tokens: "true" } })).toMatchObject({
      name: "RPC",
    });
    expect(await tenants.getTenant({})).toMatchObject({
      id: tenant.id,
      name: "RPC",
      settings: { fingerprint_tokens: "true" },
    });

    const logs = rpcClient(LogService, protocol, { key });
    const page = await logs.listLogs({ entityType: "application", size: 3 });
    expect(page.data).toHaveLength(3);
    expect(page.data[0]).toMatchObject({ tenantId: tenant.id, entityType: "application", operation: "delete" });
    const next = await logs.listLogs({
      entityType: "application",
      size: 3,
      ...(page.pagination?.after ? { start: page.pagination.after } : {}),
    });
    expect(next.data[0]?.id).not.toBe(page.data[0]?.id);
    expect((await logs.listLogEntityTypes({})).data.map(({ value }) => value)).toContain("token");
  });

  it("many concurrent calls each get their own response", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const made = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const { id } = await tokens.createToken({ type: "token", data: toValue(index) });
        const { data } = await tokens.getToken({ id });
        return data && toJson(data, "data");
      }),
    );
    expect(made).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });

  it("the response of a create has the token's location in a header", async () => {
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
    const seen: (string | null)[] = [];
    const onHeader = (headers: Headers) => seen.push(headers.get("location"));
    const { id } = await tokens.createToken({ type: "token", data: toValue(1) }, { onHeader });
    expect(seen).toEqual([`/tokens/${id}`]);
  });
});

it("Connect JSON keeps protobuf's own spelling, and accepts that of REST too", async () => {
  const tenant = await newTenant();
  const backEnd = await tenant.backEnd();
  const call = (body: object) => backEnd("POST", "/cloakroom.v1.TokenService/CreateToken", { body });
  const camel = await call({ type: "token", data: 1, fingerprintExpression: "{{ data }}" });
  expect(camel).toMatchObject({ status: 200, body: { tenantId: tenant.id, fingerprintExpression: "{{ data }}" } });
  const snake = await call({ type: "token", data: 1, fingerprint_expression: "{{ data }}" });
  expect(snake.body.fingerprint).toBe(camel.body.fingerprint);
  expect(snake.body).not.toHaveProperty("tenant_id");
});
