import type { ServerResponse } from "node:http";

/**
 * Headers of every answer but our own pages. A browser that shows such an answer gives it an origin of its own, where no
 * script runs, nothing is loaded and no form is sent.
 */
const ANSWER_HEADERS = [
  [
    "content-security-policy",
    "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ["x-content-type-options", "nosniff"],
] as const;

/** Sets them; our own pages replace the policy by theirs. */
export function protectAnswer(response: ServerResponse): void {
  for (const [name, value] of ANSWER_HEADERS) response.setHeader(name, value);
}

/** Headers of our own pages and their files. Each page adds its content security policy. */
export const OWN_PAGE_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;
