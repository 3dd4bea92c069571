/** Browsers by the mark in their user agent. Those that imitate others come first. */
const BROWSERS: readonly (readonly [string, RegExp])[] = [
  ["Edge", /\bEdgA?\/|\bEdgiOS\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\bFirefox\/|\bFxiOS\//],
  ["Chrome", /\bChrome\/|\bCriOS\//],
  ["Safari", /\bSafari\//],
  ["curl", /^curl\//],
  ["Cloakroom's command line", /^cloakroom-cli\//],
];

const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ["iOS", /\b(?:iPhone|iPad)\b/],
  ["Android", /\bAndroid\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMac OS X\b/],
  ["Linux", /\bLinux\b/],
];

/** Names browser and system of a user agent, as in "Firefox on Linux". The text of the user agent is never kept. */
export function describeBrowser(userAgent = ""): string {
  const named = (names: typeof BROWSERS) => names.find(([, mark]) => mark.test(userAgent))?.[0];
  const browser = named(BROWSERS) ?? "another program";
  const system = named(SYSTEMS);
  return system ? `${browser} on ${system}` : browser;
}
