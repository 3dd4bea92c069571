import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { settings } from "./settings.ts";
import { authorizeReveal, charge, chargeThroughProxy, type Payment, paymentNow } from "./vault.ts";

const PRICE = 2500;
const LONGEST_BODY = 10_000;

/** An order knows its card as a token. A real shop keeps orders in a database, and knows its customers. */
interface Order {
  readonly id: string;
  readonly customer: string;
  token?: string;
  payment?: Payment;
}
const orders = new Map<string, Order>();

interface Visitor {
  readonly customer: string;
  readonly address: string | undefined;
}

type Handler = (from: Visitor, body: Readonly<Record<string, unknown>>) => Promise<object>;

const handlers: Readonly<Record<string, Handler>> = {
  "/orders": async ({ customer }) => {
    const order = { id: randomUUID(), customer };
    orders.set(order.id, order);
    return { id: order.id };
  },
  "/pay": async ({ customer }, { order: id, attempt, token, service }) => {
    const order = ownOrder(customer, id);
    if (order.payment?.state === "paid") return order.payment;
    const pay = service === "acquirer" ? chargeThroughProxy : charge;
    order.payment = await pay(`${order.id}-${Number(attempt)}`, String(token), PRICE);
    order.token = String(token);
    return order.payment;
  },
  // Believes the vault, not the page, that the cardholder has approved.
  "/payment": async ({ customer }, { order: id }) => {
    const order = ownOrder(customer, id);
    if (order.payment?.state === "waits") order.payment = await paymentNow(order.payment.id);
    return { state: order.payment?.state };
  },
  // Asks the vault only for cards that this customer paid with: the page names an order, not a token.
  "/show-card": async ({ customer, address }, { order: id, nonce }) => {
    const { token, payment } = ownOrder(customer, id);
    if (token === undefined || payment?.state !== "paid") throw new Error("This order is not paid.");
    await authorizeReveal(String(nonce), token, address);
    return {};
  },
};

function ownOrder(customer: string, id: unknown): Order {
  const order = orders.get(String(id));
  if (order?.customer !== customer) throw new Error("There is no such order.");
  return order;
}

const page = readFileSync(new URL("page.html", import.meta.url), "utf8")
  .replaceAll("{{vault}}", settings.vault)
  .replaceAll("{{publicKey}}", settings.publicKey);
const script = readFileSync(new URL("page.js", import.meta.url), "utf8");
/** The page runs its own script and the vault's, and shows frames of the vault. */
const policy = [
  "default-src 'none'",
  `script-src 'self' ${settings.vault}`,
  `frame-src ${settings.vault}`,
  ...["style-src 'unsafe-inline'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'"],
].join("; ");

const server = createServer(async (request, response) => {
  const customer = customerOf(request) ?? randomUUID();
  const send = (status: number, type: string, text: string) => {
    response.writeHead(status, {
      ...{ "Content-Type": `${type}; charset=utf-8`, "Content-Security-Policy": policy, "Cache-Control": "no-store" },
      "Set-Cookie": `customer=${customer}; HttpOnly; SameSite=Strict; Path=/`,
    });
    response.end(text);
  };
  const path = request.url ?? "/";
  if (request.method === "GET" && path === "/") return send(200, "text/html", page);
  if (request.method === "GET" && path === "/page.js") return send(200, "text/javascript", script);
  const handler = request.method === "POST" && Object.hasOwn(handlers, path) ? handlers[path] : undefined;
  if (!handler) return send(404, "text/plain", "Not found");
  try {
    send(
      200,
      "application/json",
      JSON.stringify(await handler({ customer, address: addressOf(request) }, await readBody(request))),
    );
  } catch (error) {
    send(400, "application/json", JSON.stringify({ message: error instanceof Error ? error.message : "Failed" }));
  }
});

function customerOf({ headers }: IncomingMessage): string | undefined {
  return /(?:^|; )customer=([0-9a-f-]{36})/.exec(headers.cookie ?? "")?.[1];
}

/**
 * The address by which the vault sees the customer too. Behind a load balancer it is in a header. On one machine the shop
 * and the vault may see different ones of its addresses, 127.0.0.1 and ::1.
 */
function addressOf({ socket }: IncomingMessage): string | undefined {
  const { remoteAddress = "" } = socket;
  return /^(::ffff:)?127\.|^::1$/.test(remoteAddress) ? undefined : remoteAddress;
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > LONGEST_BODY) throw new Error("The request is too long.");
  }
  return Object(JSON.parse(text));
}

server.listen(Number(new URL(settings.origin).port), () => console.log(`The shop is at ${settings.origin}`));
