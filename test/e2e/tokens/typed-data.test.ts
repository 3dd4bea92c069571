import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { CreateTokenRequestSchema, TokenService } from "../../../gen/cloakroom/v1/tokens_pb.js";
import { toValue } from "../../../src/services/value.js";
import type { RestClient } from "../../support/rest.js";
import { failureOf, RPC_PROTOCOLS, rpcClient } from "../../support/rpc.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

const PATCH = { "Content-Type": "application/merge-patch+json" };
const card = { number: "4242424242424242", expiration_month: 12, expiration_year: 2030 };
const cardData = { number: "4242424242424242", expirationMonth: 12, expirationYear: 2030 };
const maskedCard = { ...cardData, number: "XXXXXXXXXXXX4242" };
const bank = { routing_number: "021000021", account_number: "123456789" };
const bankData = { routingNumber: "021000021", accountNumber: "123456789" };

let tenant: TestTenant;
let backEnd: RestClient & { readonly key: string };
let masking: RestClient & { readonly key: string };
let redacting: RestClient & { readonly key: string };
beforeAll(async () => {
  tenant = await newTenant();
  backEnd = await tenant.backEnd();
  const permissions = ["token:create", "token:read", "token:update"];
  const holder = (transform: string) =>
    tenant.application({ type: "private", rules: [{ priority: 1, container: "/", transform, permissions }] });
  masking = await holder("mask");
  redacting = await holder("redact");
});

type Draft = MessageInitShape<typeof CreateTokenRequestSchema>;

/** The same card or bank account as a message of its own and as a Value. */
interface Pair {
  readonly typed: Draft;
  readonly plain: Draft;
}

const digits = (length: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length }).map((all) => all.join(""));

function withCheckDigit(digitsBefore: string): string {
  const sum = [...digitsBefore].reverse().reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${digitsBefore}${(10 - (sum % 10)) % 10}`;
}

const cards: fc.Arbitrary<Pair> = fc
  .record(
    {
      number: fc.integer({ min: 12, max: 18 }).chain(digits).map(withCheckDigit),
      expirationMonth: fc.integer({ min: 1, max: 12 }),
      expirationYear: fc.integer({ min: 1000, max: 9999 }),
      cvc: fc.oneof(digits(3), digits(4)),
    },
    { requiredKeys: ["number"] },
  )
  .map((typed) => ({
    typed: { type: "card", cardData: typed },
    plain: {
      type: "card",
      data: toValue({
        number: typed.number,
        ...(typed.expirationMonth === undefined ? {} : { expiration_month: typed.expirationMonth }),
        ...(typed.expirationYear === undefined ? {} : { expiration_year: typed.expirationYear }),
        ...(typed.cvc === undefined ? {} : { cvc: typed.cvc }),
      }),
    },
  }));

const banks: fc.Arbitrary<Pair> = fc
  .record({
    routingNumber: fc.constantFrom("021000021", "011401533", "091000019"),
    accountNumber: fc.integer({ min: 1, max: 17 }).chain(digits),
  })
  .map((typed) => ({
    typed: { type: "bank", bankData: typed },
    plain: {
      type: "bank",
      data: toValue({ routing_number: typed.routingNumber, account_number: typed.accountNumber }),
    },
  }));

const attributes = fc.record(
  {
    mask: fc.constantFrom(
      toValue({ number: "{{ data.number | reveal_last: 2 }}", expiration_year: "hidden", expiration_month: 1.5 }),
      toValue("{{ data.number | default: 'none' }}"),
      toValue(["{{ data.account_number }}"]),
      toValue({}),
    ),
    fingerprintExpression: fc.constantFrom("{{ data.number }}{{ data.account_number }}"),
    searchIndexes: fc
      .constantFrom("{{ data.number | default: 'none' }}", "{{ data.routing_number | default: 'none' }}")
      .map((index) => [index]),
    metadata: fc.constant({ a: "1" }),
  },
  { requiredKeys: [] },
);

/** A token without what differs between any two tokens. */
function comparable<T extends { readonly id: string }>(token: T) {
  const { id: _, createdAt: __, created_at: ___, ...rest } = { createdAt: 0, created_at: 0, ...token };
  return rest;
}

it.each(RPC_PROTOCOLS)("equal data makes equal tokens and log rows, as a Value or as a message, over %s", (protocol) =>
  fc.assert(
    fc.asyncProperty(fc.oneof(cards, banks), attributes, async ({ typed, plain }, further) => {
      const asked = [typed, plain].map((draft) => create(CreateTokenRequestSchema, { ...draft, ...further }));
      const shown = await Promise.all(
        asked.map(async (request) => {
          const tokens = rpcClient(TokenService, protocol, { key: backEnd.key });
          const made = await tokens.createToken(request);
          const read = await tokens.getToken({ id: made.id });
          const masked = await rpcClient(TokenService, protocol, { key: masking.key }).getToken({ id: made.id });
          const overRest = await backEnd("GET", `/tokens/${made.id}`);
          const log = await tenant.manage("GET", `/logs?entity_id=${made.id}`);
          return {
            ...{ made: comparable(made), read: comparable(read), masked: comparable(masked) },
            overRest: comparable(overRest.body),
            log: log.body.data.map(({ operation, entity_type, actor_id }: Record<string, string>) => ({
              ...{ operation, entity_type, actor_id },
            })),
          };
        }),
      );
      expect(shown[0]).toEqual(shown[1]);
      expect(shown[0]?.read.cardData).toEqual(asked[0]?.cardData);
      expect(shown[0]?.read.bankData).toEqual(asked[0]?.bankData);
    }),
    { numRuns: 8 },
  ),
);

describe.each(RPC_PROTOCOLS)("data in a message of its own over %s", (protocol) => {
  const tokensOf = ({ key }: { readonly key: string }) => rpcClient(TokenService, protocol, { key });

  it("is masked and redacted as data is", async () => {
    const made = await tokensOf(backEnd).createToken({ type: "card", cardData });
    expect(made.cardData).toMatchObject(maskedCard);
    const { id } = made;
    expect((await tokensOf(backEnd).getToken({ id })).cardData).toMatchObject(cardData);
    expect((await tokensOf(masking).getToken({ id })).cardData).toMatchObject(maskedCard);
    const redacted = await tokensOf(redacting).getToken({ id });
    expect([redacted.data, redacted.cardData]).toEqual([undefined, undefined]);
    const account = await tokensOf(masking).createToken({ type: "bank", bankData });
    expect(account.bankData).toMatchObject({ routingNumber: "021000021", accountNumber: "XXXXX6789" });
    const listed = await tokensOf(masking).listTokens({ id: [id, account.id] });
    expect(listed.data.map((token) => token.cardData ?? token.bankData)).toMatchObject([
      { accountNumber: "XXXXX6789" },
      maskedCard,
    ]);
  });

  it("is deduplicated onto the same data in a Value", async () => {
    const draft = { type: "bank", deduplicateToken: true };
    const first = await tokensOf(backEnd).createToken({ ...draft, data: toValue(bank) });
    const second = await tokensOf(backEnd).createToken({ ...draft, bankData });
    expect(second).toMatchObject({ id: first.id, extras: { deduplicated: true } });
    await backEnd("DELETE", `/tokens/${first.id}`);
  });

  it.each<[string, Draft, string[]]>([
    ["both forms", { type: "card", data: toValue(card), cardData }, ["card_data"]],
    ["both forms, one of them null", { type: "card", data: toValue(null), cardData }, ["card_data", "data"]],
    ["two messages", { type: "card", cardData, bankData }, ["bank_data"]],
    ["no data", { type: "card" }, ["data"]],
    ["neither data nor a type", {}, ["type", "data"]],
    ["the message of another type", { type: "card", bankData }, ["bank_data"]],
    ["a message for a type that has none", { type: "card_number", cardData }, ["card_data"]],
    ["an empty message", { type: "card", cardData: {} }, ["card_data.number"]],
    [
      "invalid fields",
      { type: "card", cardData: { number: "4242424242424241", expirationMonth: 13, expirationYear: -1, cvc: "1" } },
      ["card_data.number", "card_data.expiration_month", "card_data.expiration_year", "card_data.cvc"],
    ],
    [
      "a NUL character",
      { type: "bank", bankData: { ...bankData, accountNumber: "1\0" } },
      ["bank_data.account_number"],
    ],
  ])("is refused for %s, naming the fields", async (_, draft, fields) => {
    const failure = await failureOf(tokensOf(backEnd).createToken(draft));
    expect(failure).toMatchObject({ code: "InvalidArgument", reason: "validation_failed", fields });
    expect(failure.message).not.toContain("42424242");
  });

  it("is merged by a patch, whose mask names it", async () => {
    const { id } = await tokensOf(backEnd).createToken({ type: "card", cardData });
    const patched = await tokensOf(backEnd).updateToken({
      ...{ id, cardData: { expirationYear: 2035 }, updateMask: { paths: ["card_data"] } },
    });
    expect(patched.cardData).toMatchObject({ ...maskedCard, expirationYear: 2035 });
    expect((await backEnd("GET", `/tokens/${id}`)).body.data).toEqual({ ...card, expiration_year: 2035 });
  });

  it.each<[string, object, string[], string[]]>([
    ["with data beside it", { data: toValue({}), cardData }, ["data", "card_data"], ["card_data"]],
    ["named and not set", {}, ["card_data"], ["card_data"]],
    ["for another type", { bankData }, ["bank_data"], ["bank_data"]],
    ["with an invalid field", { cardData: { expirationMonth: 0 } }, ["card_data"], ["card_data.expiration_month"]],
    ["by a path into it", { cardData }, ["card_data.number"], ["update_mask"]],
  ])("is refused in a patch %s, and nothing changes", async (_, patch, paths, fields) => {
    const { id } = await tokensOf(backEnd).createToken({ type: "card", cardData });
    const failure = await failureOf(tokensOf(backEnd).updateToken({ id, ...patch, updateMask: { paths } }));
    expect(failure).toMatchObject({ code: "InvalidArgument", reason: "validation_failed", fields });
    expect((await backEnd("GET", `/tokens/${id}`)).body).not.toHaveProperty("modified_at");
  });

  it("is ignored in a patch whose mask does not name it", async () => {
    const { id } = await tokensOf(backEnd).createToken({ type: "card", cardData });
    const updateMask = { paths: ["metadata"] };
    await tokensOf(backEnd).updateToken({ id, bankData, metadata: toValue({ a: "1" }), updateMask });
    expect((await backEnd("GET", `/tokens/${id}`)).body).toMatchObject({ data: card, metadata: { a: "1" } });
  });

  it("is shown by a repeat with the same idempotency key, without the code", async () => {
    const headers = { "bt-idempotency-key": `${protocol}-typed` };
    const tokens = rpcClient(TokenService, protocol, { key: backEnd.key, headers });
    const draft = { type: "card", cardData: { ...cardData, cvc: "123" }, mask: toValue({ cvc: "{{ data.cvc }}" }) };
    const first = await tokens.createToken(draft);
    expect(first.cardData).toMatchObject({ cvc: "123" });
    expect((await tokens.createToken(draft)).id).toBe(first.id);
  });
});

describe("REST", () => {
  it("does not read the messages of RPC", async () => {
    const refused = await backEnd("POST", "/tokens", { body: { type: "card", card_data: card } });
    expect(refused).toMatchObject({ status: 400, body: { errors: { data: ["must be given"] } } });
    const made = await backEnd("POST", "/tokens", { body: { type: "card", data: card, card_data: bank } });
    expect(made).toMatchObject({ status: 201, body: { data: { number: "XXXXXXXXXXXX4242" } } });
    const patch = { headers: PATCH, body: { card_data: { expiration_year: 2040 }, bank_data: null } };
    expect(await backEnd("PATCH", `/tokens/${made.body.id}`, patch)).toMatchObject({ status: 200 });
    expect((await backEnd("GET", `/tokens/${made.body.id}`)).body.data).toEqual(card);
  });

  it("does not show them", async () => {
    const { body } = await backEnd("POST", "/tokens", { body: { type: "bank", data: bank } });
    const bodies = [
      body,
      (await backEnd("GET", `/tokens/${body.id}`)).body,
      (await backEnd("GET", "/tokens")).body.data[0],
      (await backEnd("POST", "/tokenize", { body: { type: "bank", data: bank } })).body,
    ];
    for (const shown of bodies) {
      expect(shown).toHaveProperty("bank.account_number_last4", "6789");
      expect(shown).not.toHaveProperty("bank_data");
      expect(shown).not.toHaveProperty("card_data");
    }
  });
});
