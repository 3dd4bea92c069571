import { vi } from "vitest";
import { connect } from "../../support/payments.js";
import type { RestClient, RestResponse } from "../../support/rest.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";
import { type Destination, startDestination } from "../proxy/support/destination.js";

/** A client with the key of an application, and the application's id. */
export type Caller = RestClient & { readonly id: string };

/** A tenant with everything that calls need. */
export interface World extends AsyncDisposable {
  readonly tenant: TestTenant;
  readonly manager: Caller;
  /** May do everything with tokens, payments and 3DS, but sees tokens in /masked/ only masked. */
  readonly backEnd: Caller;
  readonly front: Caller;
  readonly destination: Destination;
  readonly connectionId: string;
  /** Creates the subject of a call and returns its id. */
  made(client: RestClient, path: string, body?: object): Promise<string>;
  card(): Promise<string>;
  text(): Promise<string>;
  /** An authorized transaction. */
  payment(): Promise<string>;
  /** A 3DS session of a card. */
  threeDSSession(): Promise<string>;
  /** Records that an entity existed before the call under test. */
  remember(id: string): void;
  /** Whether an entity existed before the call under test. */
  isStored(id: string): boolean;
}

const TOKEN_RIGHTS = [
  "token:create",
  "token:read",
  "token:search",
  "token:update",
  "token:delete",
  "token:export",
  "token:use",
];

const PURCHASE = { amount: "1000", currency: "840", exponent: "2", date: "20260102030405" };

export const THREE_DS_AUTHENTICATION = {
  authentication_category: "payment",
  authentication_type: "payment-transaction",
  cardholder_info: { name: "Ada" },
  purchase_info: PURCHASE,
};

export const CARD = { number: "4242424242424242", expiration_month: 12, expiration_year: 2035, cvc: "123" };

export async function newWorld(): Promise<World> {
  const tenant = await newTenant();
  const stored = new Set<string>([tenant.id]);
  const remember = <T extends { readonly id: string }>(it: T): T => {
    stored.add(it.id);
    return it;
  };
  const { body: own } = await tenant.manage("GET", "/applications/key");
  const manager = Object.assign(tenant.manage, remember({ id: String(own.id) }));
  const backEnd = remember(
    await tenant.application({
      type: "private",
      rules: [
        { priority: 1, container: "/masked/", transform: "mask", permissions: TOKEN_RIGHTS },
        { priority: 2, container: "/", transform: "reveal", permissions: TOKEN_RIGHTS },
      ],
      permissions: [
        "token:import",
        "orchestration:transaction:capture",
        "3ds:session:create",
        "3ds:session:read",
        "3ds:session:authenticate",
      ],
    }),
  );
  const front = remember(await tenant.application({ type: "public", permissions: ["token:create"] }));
  const destination = await startDestination();
  const connectionId = await connect(tenant);
  const { body: owner } = await tenant.manage("GET", "/tenants/self/owner");
  stored.add(owner.id);
  const made: World["made"] = async (client, path, body) => {
    const response = await client("POST", path, body === undefined ? {} : { body });
    if (response.status >= 300)
      throw new Error(`POST ${path} returned ${response.status}: ${JSON.stringify(response.body)}`);
    return remember({ id: String(response.body.id) }).id;
  };
  const card = () => made(backEnd, "/tokens", { type: "card", data: CARD });
  // Lists of this pair show the first in the clear, and the second masked.
  const metadata = { pair: "one" };
  await made(backEnd, "/tokens", { type: "token", data: "in the clear", metadata });
  await made(backEnd, "/tokens", { type: "token", data: "hidden", mask: "***", containers: ["/masked/"], metadata });
  return {
    ...{ tenant, manager, backEnd, front, destination, connectionId, made, card },
    text: () => made(backEnd, "/tokens", { type: "token", data: "plain" }),
    payment: async () => {
      const order = { amount: 1000, currency: "USD", connection_id: connectionId, token: await card() };
      return made(backEnd, "/orchestration/transactions", order);
    },
    threeDSSession: async () => made(backEnd, "/3ds/sessions", { token_id: await card(), device: "browser" }),
    remember: (id) => {
      stored.add(id);
    },
    isStored: (id) => stored.has(id),
    [Symbol.asyncDispose]: () => destination[Symbol.asyncDispose](),
  };
}

/** The result of an asynchronous reactor call. */
export function resultOf(world: World, reactorId: string, requestId: string): Promise<RestResponse> {
  return vi.waitFor(
    async () => {
      const response = await world.backEnd("GET", `/reactors/${reactorId}/results/${requestId}`);
      if (response.status !== 200) throw new Error(`the result is ${response.status}`);
      return response;
    },
    { interval: 100 },
  );
}
