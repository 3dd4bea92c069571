import type { TokenType } from "./token-type.js";

/** Data of any shape. Its mask shows nothing. */
export const token: TokenType = {
  name: "token",
  normalize: (data) => data,
  containers: ["/general/high/"],
  mask: null,
  fingerprintExpression: "{{ data | stringify }}",
  searchIndexes: [],
  details: null,
};
