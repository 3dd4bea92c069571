import { type Browser, chromium } from "playwright-core";
import { findProgram } from "./requirements.js";

/**
 * Features that are off in test browsers. Chromium reads only the last such flag, so this list replaces Playwright's
 * (1.65) and repeats what its calls rely on. The last three are a process that waits for a next site, and the address bar's
 * popups: two pages of Chromium's own in each new window, half of its processor time.
 */
const DISABLED_FEATURES = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "SpareRendererForSitePerProcess",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
];

/** Runs in pages: takes away what the oldest browsers of docs/console.md lack. Chrome has these from 120 and 126. */
export const AS_OLDEST_BROWSER = "delete URL.canParse; delete URL.parse;";

/**
 * Headless Chromium: the one in CHROMIUM, or chromium-headless-shell, or the system's. The shell is the same engine without
 * windows: it takes 0.15 s of processor time for an empty page, and the whole browser 0.36. Tests of what people see of
 * the browser, such as autofill, use `openPlainBrowser`.
 */
export async function launchBrowser(): Promise<Browser> {
  const shell = process.env.CHROMIUM ? undefined : findProgram("chromium-headless-shell");
  const executablePath = shell ?? findProgram("chromium");
  if (executablePath === undefined) throw new Error("chromium is missing: set CHROMIUM, or apt-get install chromium");
  // Chromium's own sandbox cannot be set up by root, which tests in containers run as.
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", `--disable-features=${DISABLED_FEATURES.join(",")}`],
  });
}

let shared: Promise<Browser> | undefined;

/**
 * The browser of this worker: a start costs a second of processor time, a context of its own almost nothing. `close` closes the
 * contexts that the file has opened, and the browser stays for the next file. It ends with the worker.
 */
export async function sharedBrowser(): Promise<Browser> {
  const open = await shared;
  if (open?.isConnected()) return open;
  shared = launchShared();
  return await shared;
}

async function launchShared(): Promise<Browser> {
  const browser = await launchBrowser();
  browser.close = async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
  };
  return browser;
}
