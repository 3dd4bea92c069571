import type { TokenType } from "./token-type.js";

/** Data of any shape, about which nothing is known and of which nothing is shown. */
export const token: TokenType = {
  name: "token",
  displayName: "Token",
  normalize: (data) => data,
  containers: ["/general/high/"],
  mask: null,
  fingerprintExpression: "{{ data | stringify }}",
  searchIndexes: [],
  details: null,
};
