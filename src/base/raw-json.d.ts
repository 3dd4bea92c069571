/** JSON.rawJSON (ECMAScript, JSON.parse source text access): in V8 since 11.4, and not yet in TypeScript's library. */
interface JSON {
  /** A value that JSON.stringify writes as this text, which must be the JSON of a primitive. */
  rawJSON(text: string): object;
}
