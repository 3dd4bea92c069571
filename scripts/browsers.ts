/** Browsers with native modules, `AbortSignal.any` and `Array.findLast`: those of the last three years. */
export const BROWSERS = ["chrome116", "firefox124", "safari17.4"];
