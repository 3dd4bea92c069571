import { vi } from "vitest";
import type { RestClient } from "./rest.js";
import { newTenant, type TestTenant } from "./tenant.js";

/** A tenant with a simulator connection and a back end that may pay. */
export interface Shop {
  readonly tenant: TestTenant;
  readonly backEnd: RestClient & { readonly key: string };
  readonly connectionId: string;
  /** A token of a card. */
  card(number?: string, more?: object): Promise<string>;
  /** Creates a transaction, with a card of this number unless a token is given. */
  pay(order?: Record<string, unknown>, number?: string): ReturnType<RestClient>;
  /** Waits until the transaction has this status. */
  until(id: string, status: string): Promise<Awaited<ReturnType<RestClient>>["body"]>;
}

export const PAYING = ["token:create", "token:read", "token:use", "orchestration:transaction:capture"];

export async function openShop(
  fields: readonly { readonly key: string; readonly value: string }[] = [],
  tenant?: TestTenant,
): Promise<Shop> {
  const owner = tenant ?? (await newTenant());
  const backEnd = await owner.application({ type: "private", permissions: PAYING });
  const connectionId = await connect(owner, fields);
  const card: Shop["card"] = async (number = "4242424242424242", more = {}) => {
    const data = { number, expiration_month: 12, expiration_year: 2030, cvc: "123", ...more };
    const { status, body } = await backEnd("POST", "/tokens", { body: { type: "card", data } });
    if (status !== 201) throw new Error(`a card got ${status}: ${JSON.stringify(body)}`);
    return body.id;
  };
  return {
    ...{ tenant: owner, backEnd, connectionId, card },
    async pay(order = {}, number) {
      const token = order.token ?? (await card(number));
      const body = { amount: 1000, currency: "USD", connection_id: connectionId, token, ...order };
      return backEnd("POST", "/orchestration/transactions", { body });
    },
    until: (id, status) =>
      vi.waitFor(
        async () => {
          const { body } = await backEnd("GET", `/orchestration/transactions/${id}`);
          if (body.status !== status) throw new Error(`the transaction is ${body.status}, not ${status}`);
          return body;
        },
        { interval: 200 },
      ),
  };
}

export async function connect(
  tenant: TestTenant,
  fields: readonly { readonly key: string; readonly value: string }[] = [],
  change: object = {},
): Promise<string> {
  const body = {
    ...{ connection_formula_id: "simulator-card", method: "card", display_name: "Simulator" },
    fields: [{ key: "merchant_id", value: "shop" }, ...fields],
    ...{ accepted_countries: ["US"], accepted_currencies: ["USD", "JPY"] },
    ...change,
  };
  const made = await tenant.manage("POST", "/orchestration/connections", { body });
  if (made.status !== 201) throw new Error(`a connection got ${made.status}: ${JSON.stringify(made.body)}`);
  return made.body.id;
}
