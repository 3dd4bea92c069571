import { connect } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { trailerParse } from "@connectrpc/connect/protocol-grpc-web";
import { inject } from "vitest";

/** Every framing of a message, with its encoding. */
export const ENCODINGS = [
  "Connect JSON",
  "Connect binary",
  "gRPC JSON",
  "gRPC binary",
  "gRPC-Web JSON",
  "gRPC-Web binary",
] as const;
export type Encoding = (typeof ENCODINGS)[number];
export const JSON_ENCODINGS = ENCODINGS.filter((encoding) => encoding.endsWith("JSON"));
export const BINARY_ENCODINGS = ENCODINGS.filter((encoding) => encoding.endsWith("binary"));

export interface RawCall {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes are the whole body, including frames. */
  readonly framed?: boolean;
}

/** Sends bytes as the message of a call. Returns its error; undefined if it was served. */
export async function sendMessage(
  encoding: Encoding,
  method: string,
  message: Uint8Array | string,
  { key, headers = {}, framed = false }: RawCall = {},
): Promise<ConnectError | undefined> {
  const bytes = Buffer.from(message);
  const codec = encoding.endsWith("JSON") ? "json" : "proto";
  const auth = key === undefined ? {} : { "bt-api-key": key };
  if (encoding.startsWith("Connect")) {
    return unary(method, bytes, { "content-type": `application/${codec}`, ...auth, ...headers });
  }
  const body = framed ? bytes : Buffer.from(encodeEnvelope(0, bytes));
  return encoding.startsWith("gRPC-Web")
    ? web(method, body, { "content-type": `application/grpc-web+${codec}`, ...auth, ...headers })
    : grpc(method, body, { "content-type": `application/grpc+${codec}`, te: "trailers", ...auth, ...headers });
}

async function unary(method: string, body: Buffer, headers: Record<string, string>): Promise<ConnectError | undefined> {
  const response = await fetch(`${inject("serverUrl")}/${method}`, {
    method: "POST",
    headers,
    body: new Uint8Array(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.ok) return undefined;
  const fallback = new ConnectError(`HTTP ${response.status}`, Code.Unknown);
  return errorFromJsonBytes(bytes, response.headers, fallback);
}

async function web(method: string, body: Buffer, headers: Record<string, string>): Promise<ConnectError | undefined> {
  const response = await fetch(`${inject("serverUrl")}/${method}`, {
    method: "POST",
    headers,
    body: new Uint8Array(body),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok) return new ConnectError(`HTTP ${response.status}`, Code.Unknown);
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) {
    if (((bytes[at] ?? 0) & 0x80) === 0) continue;
    const trailer = trailerParse(bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1)));
    return withHeaders(findTrailerError(trailer), response.headers);
  }
  return new ConnectError("there is no trailer", Code.Unknown);
}

function grpc(method: string, body: Buffer, headers: Record<string, string>): Promise<ConnectError | undefined> {
  const session = connect(inject("serverUrl"));
  return new Promise<ConnectError | undefined>((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": `/${method}`, ...headers });
    const seen = new Headers();
    const take = (received: object) => {
      for (const [name, value] of Object.entries(received)) if (!name.startsWith(":")) seen.set(name, String(value));
    };
    stream.on("response", take).on("trailers", take).on("error", reject).resume();
    stream.on("end", () => resolve(withHeaders(findTrailerError(seen), seen)));
    stream.end(body);
  }).finally(() => session.close());
}

function withHeaders(error: ConnectError | undefined, headers: Headers): ConnectError | undefined {
  for (const [name, value] of headers) if (error && !error.metadata.has(name)) error.metadata.set(name, value);
  return error;
}
