import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Frame, Page } from "playwright-core";
import { inject } from "vitest";
import { newTenant, type TestTenant } from "../../../support/tenant.js";

/** The vault under another host name than the shop's: two sites for a browser. */
export const vaultUrl = inject("serverUrl").replace("127.0.0.1", "localhost");

/** A shop's web server. Any path is the page; `headers` come with it. */
export interface Shop extends AsyncDisposable {
  readonly origin: string;
  readonly tenant: TestTenant;
  readonly publicKey: string;
  /** The address of a page with this content, whose scripts come from the shop and the vault. */
  page(body: string, headers?: Readonly<Record<string, string>>): string;
}

export async function openShop(): Promise<Shop> {
  const pages: { body: string; headers: Readonly<Record<string, string>> }[] = [];
  const server: Server = createServer((request, response) => {
    const shown = pages[Number(request.url?.slice(1).split("?")[0])];
    response.writeHead(shown ? 200 : 404, { "Content-Type": "text/html; charset=utf-8", ...shown?.headers });
    response.end(shown?.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port }: AddressInfo = Object(server.address());
  const origin = `http://127.0.0.1:${port}`;
  const tenant = await newTenant();
  const { body } = await tenant.manage("POST", "/applications", {
    body: { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins: [origin] },
  });
  return {
    ...{ origin, tenant, publicKey: String(body.key) },
    page: (text, headers = {}) => `${origin}/${pages.push({ body: text, headers }) - 1}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A page with the three fields of a card. `before` runs before the loader. */
export function cardPage(publicKey: string, before = "", options = ""): string {
  return `<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,"><script>${before}</script>
<script src="${vaultUrl}/elements/v1/elements.js"></script></head><body><main><h1>Pay</h1>
<label for="number">Card number</label><div id="number"></div>
<label for="expiration">Expiration date</label><div id="expiration"></div>
<label for="code">Verification code</label><div id="code"></div>
<button id="pay">Pay</button></main>
<script>
  window.events = [];
  const group = cloakroom.elements({ baseUrl: ${JSON.stringify(vaultUrl)}, publicKey: ${JSON.stringify(publicKey)} ${options} });
  const number = group.create("cardNumber");
  const expiration = group.create("cardExpirationDate");
  const code = group.create("cardVerificationCode");
  for (const field of [number, expiration, code])
    for (const type of ["ready", "focus", "blur", "change", "submit", "error"])
      field.on(type, (event) => window.events.push({ field: field.type, ...event, ...(event.error ? { error: { code: event.error.code, message: event.error.message } } : {}) }));
  window.mounted = Promise.all([number.mount("#number"), expiration.mount("#expiration"), code.mount("#code")]);
  window.card = () => ({ type: "card", data: { number, expiration_month: expiration.month(), expiration_year: expiration.year(), cvc: code } });
  window.pay = (body = window.card(), options) => group.tokenize(body, options).then((token) => ({ token }), (error) => ({ code: error.code, message: error.message, errors: error.errors }));
</script></body></html>`;
}

/** The frame of a field, by its type. */
export async function fieldFrame(page: Page, type: string): Promise<Frame> {
  await page.waitForFunction("window.mounted.then(() => true)");
  const found = page.frames().find((frame) => frame.url().includes(`type=${type}#`));
  if (!found) throw new Error(`the page has no frame of ${type}`);
  return found;
}

/** Evaluates an expression in a field's frame, in which `input` is its input. */
export async function inField<T>(page: Page, type: string, expression: string): Promise<T> {
  const frame = await fieldFrame(page, type);
  return frame.evaluate<T>(`(() => { const input = document.querySelector("input"); return ${expression}; })()`);
}

/** A random card number of 16 digits, with its check digit. */
export function randomCardNumber(): string {
  const digits = `424242${String(Math.floor(Math.random() * 1e9)).padStart(9, "0")}`;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}
