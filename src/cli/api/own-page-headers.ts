/**
 * Headers of calls for a person. They protect people in browsers, where pages of other origins cannot send them; here no
 * other page can call.
 */
export const OWN_PAGE_HEADERS = {
  "sec-fetch-site": "same-origin",
  "x-cloakroom-console": "1",
} as const;
