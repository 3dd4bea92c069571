// Needs: chromium
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { newTenant, type TestTenant } from "../../support/tenant.js";

/** The code that a shop's page would run, as the README shows it. */
const PAGE = `
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { TokenService } from "./gen/cloakroom/v1/tokens_pb.js";

const field = (text) => ({ kind: { case: "stringValue", value: text } });
window.tokenize = async (baseUrl, protocol, key, number) => {
  const transport = protocol === "connect" ? createConnectTransport({ baseUrl }) : createGrpcWebTransport({ baseUrl });
  const data = { kind: { case: "structValue", value: { fields: { number: field(number) } } } };
  try {
    const token = await createClient(TokenService, transport).createToken({ type: "card", data }, { headers: { "BT-API-KEY": key } });
    return { id: token.id, type: token.type };
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return { code: Code[code], message: rawMessage };
  }
};
`;

let tenant: TestTenant;
let publicKey: string;
let shop: Server;
let browser: Browser;

beforeAll(async () => {
  tenant = await newTenant();
  ({ key: publicKey } = await tenant.application({ type: "public", permissions: ["token:create"] }));
  const { outputFiles } = await build({
    stdin: { contents: PAGE, resolveDir: process.cwd(), loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
  });
  const script = outputFiles[0]?.text ?? "";
  shop = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(
      isScript ? script : '<!doctype html><title>Shop</title><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  browser = await sharedBrowser();
});
afterAll(async () => {
  await browser?.close();
  shop?.close();
});

async function tokenizeInPage(protocol: string, key: string, number: string) {
  const { port }: AddressInfo = Object(shop.address());
  const page = await browser.newPage();
  try {
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.waitForFunction("window.tokenize");
    const call = `window.tokenize(${[inject("serverUrl"), protocol, key, number].map((text) => JSON.stringify(text)).join()})`;
    return await page.evaluate<Record<string, string>>(call);
  } finally {
    await page.close();
  }
}

describe("a page on another origin", () => {
  it.each(["connect", "grpc-web"])("tokenizes a card over %s with a public key", async (protocol) => {
    const token = await tokenizeInPage(protocol, publicKey, "4242424242424242");
    expect(token).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), type: "card" });
    const stored = await (await tenant.backEnd())("GET", `/tokens/${token.id}`);
    expect(stored.body.data.number).toBe("4242424242424242");
  });

  it.each(["connect", "grpc-web"])("gets an error over %s without the card number", async (protocol) => {
    const response = await tokenizeInPage(protocol, publicKey, "4242424242424241");
    expect(response.code).toBe("InvalidArgument");
    expect(JSON.stringify(response)).not.toContain("4242424242424241");
    expect((await tokenizeInPage(protocol, "key_nonsense", "4242424242424242")).code).toBe("Unauthenticated");
  });
});
