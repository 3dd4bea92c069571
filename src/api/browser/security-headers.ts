import type { OpenResponse } from "../connection/exchange.js";

/**
 * Headers of every response except our own pages. A browser that shows such a response gives it an origin of its own,
 * without scripts, loading or forms.
 */
const SECURITY_HEADERS = [
  [
    "content-security-policy",
    "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ["x-content-type-options", "nosniff"],
] as const;

/** Sets them; our own pages override the policy. */
export function setSecurityHeaders(response: OpenResponse): void {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value);
}

/** Headers of our own pages and their files. Each page adds its content security policy. */
export const OWN_PAGE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;
