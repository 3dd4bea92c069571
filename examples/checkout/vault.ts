import { settings } from "./settings.ts";

interface Call {
  readonly key: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Posts to the vault. @throws {Error} with the vault's explanation, which contains no card data. */
function post(path: string, { key, body, headers = {} }: Call): Promise<Record<string, unknown>> {
  return call(path, {
    method: "POST",
    headers: { "BT-API-KEY": key, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

async function call(path: string, request: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(`${settings.vault}${path}`, request);
  const text = await response.text();
  const content = text === "" ? {} : JSON.parse(text);
  if (!response.ok) throw new Error(`The vault returned ${response.status}: ${Object(content).detail}`);
  return Object(content);
}

/** How a payment stands. */
export type Payment =
  | { readonly state: "paid" | "declined" }
  /** The cardholder must approve it at the bank, by 3-D Secure. */
  | { readonly state: "waits"; readonly id: string; readonly approvalUrl: string };

/** Charges a card through the vault's connection to a payment service. Repeats with one reference charge once. */
export async function charge(reference: string, token: string, amount: number): Promise<Payment> {
  const transaction = await post("/orchestration/transactions", {
    key: settings.paymentsKey,
    headers: { "BT-IDEMPOTENCY-KEY": reference },
    body: {
      ...{ amount, currency: "USD", token, connection_id: settings.connectionId },
      ...{ intent: "capture", external_identifier: reference },
    },
  });
  return paymentOf(transaction);
}

/** How a payment stands that waited for its cardholder. */
export async function paymentNow(id: string): Promise<Payment> {
  return paymentOf(
    await call(`/orchestration/transactions/${id}`, { headers: { "BT-API-KEY": settings.paymentsKey } }),
  );
}

function paymentOf({ id, status, payment_method: method }: Record<string, unknown>): Payment {
  if (status !== "buyer_approval_pending") return { state: status === "capture_succeeded" ? "paid" : "declined" };
  return { state: "waits", id: String(id), approvalUrl: String(Object(method).approval_url) };
}

/** Charges a card at a service that the vault has no connector for: the vault's proxy puts the number in. */
export async function chargeThroughProxy(reference: string, token: string, amount: number): Promise<Payment> {
  const { status } = await post("/proxy", {
    key: settings.paymentsKey,
    headers: { "BT-PROXY-URL": `${settings.acquirer}/charges` },
    body: {
      ...{ reference, amount },
      card: {
        number: `{{ ${token} | json: '$.number' }}`,
        month: `{{ ${token} | json: '$.expiration_month' }}`,
        year: `{{ ${token} | json: '$.expiration_year' }}`,
      },
    },
  });
  return { state: status === "approved" ? "paid" : "declined" };
}

/**
 * Lets the session with this nonce read one token, for a frame that shows it. The vault refuses the nonce of a session
 * whose key the page could hold, or that was made elsewhere than where the customer is.
 * @param address the customer's, if this server sees it.
 */
export async function authorizeReveal(nonce: string, token: string, address: string | undefined): Promise<void> {
  const conditions = [{ attribute: "id", operator: "equals", value: token }];
  const rule = { priority: 1, transform: "reveal", permissions: ["token:read"], conditions };
  await post("/sessions/authorize", {
    key: settings.cardsKey,
    body: { nonce, rules: [rule], frame_required: true, ...(address === undefined ? {} : { frame_address: address }) },
  });
}
