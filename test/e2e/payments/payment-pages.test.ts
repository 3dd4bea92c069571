import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../../support/browser.js";
import { openShop, type Shop } from "../../support/payments.js";

const CHALLENGED = "4000000000003220";

let shop: Shop;
let browser: Browser;
beforeAll(async () => {
  shop = await openShop();
  browser = await sharedBrowser();
});
afterAll(() => browser?.close());

/** Opens a page as the cardholder does and presses a button. */
async function press(address: unknown, button: string): Promise<string> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  try {
    await page.goto(String(address));
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByText("You can close this page.").waitFor();
    expect(new URL(page.url()).origin).toBe(inject("serverUrl"));
    expect(complaints).toEqual([]);
    return await page.locator("body").innerText();
  } finally {
    await page.close();
  }
}

describe("a cardholder in a browser", () => {
  it("approves a payment", async () => {
    const { body } = await shop.pay({ intent: "capture" }, CHALLENGED);
    const { approval_url } = body.payment_method;
    expect(await press(approval_url, "Approve")).toContain("The payment was approved.");
    const { body: paid } = await shop.backEnd("GET", `/orchestration/transactions/${body.id}`);
    expect(paid).toMatchObject({ status: "capture_succeeded", three_d_secure: { method: "challenge" } });
  });

  it("answers the challenge of a 3DS session", async () => {
    const permissions = ["token:use", "3ds:session:create", "3ds:session:authenticate"];
    const merchant = await shop.tenant.application({ type: "private", permissions });
    const session = { token_id: await shop.card(CHALLENGED), device: "browser" };
    const { id } = (await merchant("POST", "/3ds/sessions", { body: session })).body;
    const { body } = await merchant("POST", `/3ds/sessions/${id}/authenticate`, {
      body: {
        ...{ authentication_category: "payment", authentication_type: "payment-transaction" },
        cardholder_info: { name: "Ada" },
        purchase_info: { amount: "2500", currency: "840", exponent: "2", date: "20260102030405" },
      },
    });
    expect(body).toMatchObject({ authentication_status: "challenge" });
    expect(await press(body.acs_challenge_url, "Approve")).toContain("Your bank has noted your response.");
  });
});
