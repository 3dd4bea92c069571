/**
 * Built-in functions as they were before tenants' code could replace them. The boundary to the worker uses these, so
 * code that patches `JSON` or `TextEncoder` breaks only itself.
 */
export const parseJson: (text: string) => unknown = JSON.parse;
export const writeJson: (value: unknown) => string | undefined = JSON.stringify;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const { apply } = Reflect;
const encode = encoder.encode;
const decode = decoder.decode;

export function toBytes(text: string): Uint8Array {
  return apply(encode, encoder, [text]);
}

/** Invalid UTF-8 becomes U+FFFD. */
export function toText(bytes: Uint8Array): string {
  return apply(decode, decoder, [bytes]);
}
