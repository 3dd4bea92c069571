import type { OpenResponse } from "../connection/exchange.js";

/** A browser that shows such a response gives it an origin of its own, without scripts, loading or forms. */
const POLICY = "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sets the headers of every response except our own pages, which override the policy. */
export function setSecurityHeaders(response: OpenResponse): void {
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("x-content-type-options", "nosniff");
}

/** Headers of our own pages and their files. Each page adds its content security policy. */
export const OWN_PAGE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;
