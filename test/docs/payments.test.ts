// Needs: chromium, curl, jq
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { sharedBrowser } from "../support/browser.js";
import { newTenant } from "../support/tenant.js";
import { WalkThrough } from "./support/walk-through.js";

let walk: WalkThrough;
let browser: Browser;
beforeAll(async () => {
  const tenant = await newTenant();
  walk = new WalkThrough("docs/payments.md", { BASE: tenant.url, MANAGEMENT_KEY: tenant.managementKey });
  browser = await sharedBrowser();
});
afterAll(() => browser?.close());

/** Types the next block and returns its output as JSON documents. */
async function typeBlock(): Promise<unknown[]> {
  const printed = await walk.type();
  return printed === "" ? [] : printed.split(/\n(?=\{)/).map((text): unknown => JSON.parse(text));
}

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

describe("the walk-through of docs/payments.md", () => {
  it("creates an application and a connection, and authorizes a payment", async () => {
    expect(await typeBlock()).toEqual([]);
    expect(await typeBlock()).toEqual([]);
    expect(walk.variable("TRANSACTION")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("captures a part, and refunds a part of that", async () => {
    expect(await typeBlock()).toEqual([
      { status: "capture_succeeded", authorized_amount: 1000, captured_amount: 800 },
      { status: "succeeded", amount: 300 },
    ]);
  });

  it("has the buyer approve in a browser", async () => {
    const [waiting] = await typeBlock();
    expect(waiting).toMatchObject({ status: "buyer_approval_pending", approval_url: expect.stringMatching(/^http/) });
    const { approval_url }: { approval_url?: unknown } = Object(waiting);
    expect(await press(approval_url, "Approve")).toContain("The payment was approved.");
    expect(await typeBlock()).toMatchObject([
      {
        status: "capture_succeeded",
        captured_amount: 2500,
        three_d_secure: { status: "complete", method: "challenge" },
      },
    ]);
  });

  it("authenticates the cardholder in a 3DS session first", async () => {
    const [challenge] = await typeBlock();
    expect(challenge).toMatchObject({ authentication_status: "challenge" });
    const { acs_challenge_url }: { acs_challenge_url?: unknown } = Object(challenge);
    expect(await press(acs_challenge_url, "Approve")).toContain("Your bank has noted your response.");
    expect(await typeBlock()).toMatchObject([
      { status: "authorization_succeeded", three_d_secure: { status: "complete", method: "challenge" } },
    ]);
    expect(walk.isAtEnd).toBe(true);
  });
});
