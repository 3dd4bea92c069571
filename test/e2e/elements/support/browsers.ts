import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";
import { expect, vi } from "vitest";
import { findProgram } from "../../../support/requirements.js";

/** A browser whose pages Playwright drives, with a port for DevTools. */
export interface OpenBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly port: number;
}

/** Each site has renderers of its own. Chromium's own sandbox cannot be set up by root. */
const ARGUMENTS = ["--no-sandbox", "--site-per-process", "--remote-debugging-port=0"];

/** With the switches of Playwright, which turn the partitioning of storage off. */
export async function openPlaywrightBrowser(): Promise<OpenBrowser> {
  const folder = mkdtempSync(join(tmpdir(), "cloakroom-browser-"));
  const executablePath = findProgram("chromium") ?? "";
  const context = await chromium.launchPersistentContext(folder, { executablePath, args: ARGUMENTS });
  const port = await portIn(folder);
  const close = async () => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { context, port, [Symbol.asyncDispose]: close };
}

/** With Chromium's own defaults, as people have it. */
export async function openPlainBrowser(): Promise<OpenBrowser> {
  const folder = mkdtempSync(join(tmpdir(), "cloakroom-browser-"));
  const program = spawn(
    findProgram("chromium") ?? "",
    ["--headless=new", "--no-first-run", `--user-data-dir=${folder}`, ...ARGUMENTS, "about:blank"],
    { stdio: "ignore" },
  );
  const port = await portIn(folder);
  // Playwright waits in vain for a first page that appears while it connects.
  await vi.waitFor(async () => expect(await pagesAt(port)).toHaveLength(1));
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  const [context] = browser.contexts();
  if (!context) throw new Error("the browser has no context");
  const close = async () => {
    await browser.close();
    program.kill();
    if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  return { context, port, [Symbol.asyncDispose]: close };
}

async function pagesAt(port: number): Promise<readonly unknown[]> {
  const targets: readonly { type: string }[] = Object(await (await fetch(`http://127.0.0.1:${port}/json/list`)).json());
  return targets.filter(({ type }) => type === "page");
}

function portIn(folder: string): Promise<number> {
  return vi.waitFor(() => Number(readFileSync(join(folder, "DevToolsActivePort"), "utf8").split("\n")[0]));
}
