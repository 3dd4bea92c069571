/** JSON as responses hold it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * JSON as callers give it: texts, finite numbers, booleans, null, arrays and plain objects. `object` admits interfaces, which
 * have no index signature; what is not JSON, such as a Date or a Map, is refused before the call, with its path.
 */
export type JsonInput = string | number | boolean | null | object;
export type JsonObjectInput = object;

/** A text that is the id of one kind of thing. Any text is accepted in its place, but not the id of another kind. */
export type Id<Kind extends string> = string & { readonly __kind?: Kind };

/** One of these texts, or another that a newer server has. */
export type Open<Known extends string> = Known | (string & {});
