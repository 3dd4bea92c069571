/** JSON.rawJSON (ECMAScript, JSON.parse source text access): in V8 since 11.4, missing from TypeScript's library. */
interface JSON {
  /** Returns a value that JSON.stringify writes as this text, which must be the JSON of a primitive. */
  rawJSON(text: string): object;
}
