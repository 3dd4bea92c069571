import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { findProgram } from "../support/requirements.js";
import type { BenchServer } from "./bench-server.js";
import { say } from "./table.js";
import { post } from "./token-requests.js";

const ROUNDS = 7;
const GROUPS = { "one field": ["card"], "three fields": ["cardNumber", "cardExpirationDate", "cardVerificationCode"] };

/**
 * The time from navigation until all fields of a page can be used, with an empty cache, on this machine's loopback. Beside
 * it the time of a page that only loads the loader: what a browser needs without any frame.
 */
export async function hostedFieldTimes(server: BenchServer): Promise<void> {
  if (findProgram("chromium") === undefined) return say("hosted fields: not measured, there is no chromium");
  let html = "";
  const shop = createServer((_, response) => response.setHeader("Content-Type", "text/html").end(html));
  shop.listen(0, "127.0.0.1");
  await once(shop, "listening");
  const { port }: AddressInfo = Object(shop.address());
  const origin = `http://127.0.0.1:${port}`;
  const vault = `http://localhost:${server.port}`;
  const definition = { name: "Shop", type: "public", permissions: ["token:create"], allowed_origins: [origin] };
  const { key } = await post(server, "/applications", server.managementKey, definition);
  await using browser = await launchBrowser();
  const measure = async (name: string, types: readonly string[]) => {
    html = pageOf(vault, String(key), types);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) times.push(await readyAfter(browser, origin));
    const [least = 0, ...more] = times.toSorted((a, b) => a - b);
    const [median = 0, most = 0] = [more[Math.floor(ROUNDS / 2) - 1], more.at(-1)];
    say(
      `hosted fields, ${name}: ready after (least / median / most) ${[least, median, most].map((time) => time.toFixed(0)).join(" / ")} ms`,
    );
  };
  await measure("loader alone", []);
  for (const [name, types] of Object.entries(GROUPS)) await measure(name, types);
  shop.closeAllConnections();
  shop.close();
}

function pageOf(vault: string, publicKey: string, types: readonly string[]): string {
  return `<!doctype html><html lang="en"><title>Shop</title>${types.map((type) => `<div id="${type}"></div>`).join("")}
<script src="${vault}/elements/v1/elements.js"></script><script>
const group = cloakroom.elements({ baseUrl: "${vault}", publicKey: "${publicKey}" });
const mounts = ${JSON.stringify(types)}.map((type) => group.create(type).mount("#" + type));
window.ready = Promise.all(mounts).then(() => performance.now());
</script>`;
}

async function readyAfter(browser: Browser, address: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  const time = await page.evaluate<number>("window.ready");
  await context.close();
  return time;
}
