import querystring from "node:querystring";

/** `require("querystring")`: the npm package with the functions that it lacks. */
export function createQuerystringModule(): object {
  return {
    ...querystring,
    escape: (text: unknown) => encodeURIComponent(String(text)),
    unescape(text: unknown): string {
      try {
        return decodeURIComponent(String(text));
      } catch {
        // As in Node, which keeps what is not percent-encoded.
        return String(text).replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
          Buffer.from(bytes.replaceAll("%", ""), "hex").toString(),
        );
      }
    },
  };
}
