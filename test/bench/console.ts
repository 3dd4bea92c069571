import type { Browser } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { findProgram } from "../support/requirements.js";
import type { BenchServer } from "./bench-server.js";
import { say } from "./table.js";

const ROUNDS = 7;

interface Visit {
  /** Over the wire, compressed. */
  readonly bytes: number;
  /** Milliseconds from navigation until the first form can be used. */
  readonly load: number;
  /** Milliseconds from a click until the vault's response is shown. */
  readonly interaction: number;
}

/** The console's first load with an empty cache, and one interaction, on this machine's loopback. */
export async function consoleTimes(server: BenchServer): Promise<void> {
  if (findProgram("chromium") === undefined) return say("console: not measured, there is no chromium");
  await using browser = await launchBrowser();
  const visits: Visit[] = [];
  for (let round = 0; round < ROUNDS; round += 1) visits.push(await visit(browser, `http://localhost:${server.port}`));
  const spread = (values: readonly number[]) => {
    const sorted = values.toSorted((a, b) => a - b);
    return [0, Math.floor(ROUNDS / 2), ROUNDS - 1].map((index) => (sorted[index] ?? 0).toFixed(0)).join(" / ");
  };
  say(`console, first load: ${visits[0]?.bytes ?? 0} bytes compressed`);
  say(`console, first load: usable after (least / median / most) ${spread(visits.map(({ load }) => load))} ms`);
  say(`console, a click: answered after (least / median / most) ${spread(visits.map((each) => each.interaction))} ms`);
}

async function visit(browser: Browser, address: string): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${address}/console`);
  const email = page.getByLabel("E-mail address");
  await email.waitFor();
  const load = await page.evaluate<number>("performance.now()");
  const bytes = await page.evaluate<number>(
    "performance.getEntriesByType('resource').reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)",
  );
  // A form that names a wrong field: no mail is sent, and limits of mails do not count it.
  await email.fill("person@example.com");
  const tenant = page.getByLabel("Tenant id");
  if ((await tenant.count()) > 0) await tenant.fill("none");
  const from = await page.evaluate<number>("performance.now()");
  await page.getByRole("button", { name: "Mail me a link" }).click();
  await page.locator(".wrong, .note").first().waitFor();
  const until = await page.evaluate<number>("performance.now()");
  await context.close();
  return { bytes, load, interaction: until - from };
}
