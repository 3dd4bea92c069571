import type { Browser, Page } from "playwright-core";

/** A page of an origin that has no server: the test answers in its place. */
export async function openServed(browser: Browser, origin: string, body: string): Promise<Page> {
  const page = await browser.newPage();
  await page.route(`${origin}/`, (route) =>
    route.fulfill({ contentType: "text/html", body: `<!doctype html><html lang="en"><title>Page</title>${body}` }),
  );
  // A page without an address on this machine asks before it loads from the vault, which has one.
  await page.context().grantPermissions(["local-network-access"]);
  await page.goto(`${origin}/`);
  return page;
}

/** Types a card into the page's `card` element. */
export async function typeCard(page: Page, digits: string): Promise<void> {
  const inputs = page.frameLocator("#card iframe").locator("input");
  for (const [index, text] of [digits, "12/30", "123"].entries()) await inputs.nth(index).fill(text);
}
