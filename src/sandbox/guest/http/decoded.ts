import { exchangeHeader, type Incoming } from "./exchange.js";

const decoders: Readonly<Record<string, string>> = {
  gzip: "gunzipSync",
  "x-gzip": "gunzipSync",
  deflate: "inflateSync",
  br: "brotliDecompressSync",
};

/** A response without its content encoding, for clients on top of `https`. @param zlib loads that module. */
export function decoded(incoming: Incoming, zlib: () => unknown): Incoming {
  const decoder = decoders[exchangeHeader(incoming.headers, "content-encoding")?.toLowerCase() ?? ""];
  if (decoder === undefined || incoming.body.length === 0) return incoming;
  const headers = incoming.headers.filter(
    ([name]) => !["content-encoding", "content-length"].includes(name.toLowerCase()),
  );
  return { ...incoming, headers, body: Object(zlib())[decoder](incoming.body) };
}
