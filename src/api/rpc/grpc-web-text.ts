import { Code, ConnectError } from "@connectrpc/connect";
import {
  assertByteStreamRequest,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { malformedJson } from "../messages/json-text.js";
import { toFault } from "../observation/observation.js";
import { PREFIX_BYTES } from "./framing.js";
import { toConnectError } from "./rpc-error.js";

/** gRPC-Web as base64, for browsers that read only text. It is the default of Google's client for the web. */
const TEXT_TYPE = /^application\/grpc-web-text(?:\+proto)?$/;

/** Most bytes of base64 for this many bytes. Each of the two frames of a body may be padded by itself. */
export function maxBase64Bytes(bytes: number): number {
  return 4 * Math.ceil((bytes + 2) / 3);
}

/** Clients pad the whole body or each of its two frames. 5 MB of one-byte pieces held the event loop for seconds. */
const MAX_BASE64_PIECES = 100;

/** Decodes base64, possibly in several pieces with padding of their own. @throws {Fault} malformed_body */
export function fromBase64(body: Buffer): Buffer {
  const text = body.toString("latin1");
  if (!/^[A-Za-z0-9+/=]*$/.test(text)) throw malformedJson("must be base64");
  const pieces: Buffer[] = [];
  for (const [piece] of text.matchAll(/[^=]+=*/g)) {
    if (pieces.length === MAX_BASE64_PIECES)
      throw malformedJson(`must be base64 in at most ${MAX_BASE64_PIECES} pieces`);
    pieces.push(Buffer.from(piece, "base64"));
  }
  return Buffer.concat(pieces);
}

/**
 * Lets one of Connect's handlers, which know only the binary form of gRPC-Web, serve the text form too.
 * @param messageBytes the size limit of a message.
 */
export function withTextForm(handler: UniversalHandler, messageBytes: number): UniversalHandler {
  const handle = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    if (!TEXT_TYPE.test(request.header.get("content-type") ?? "")) return handler(request);
    assertByteStreamRequest(request);
    const header = new Headers(request.header);
    header.set("content-type", "application/grpc-web+proto");
    const response = await handler({ ...request, header, body: decoded(request.body, messageBytes) });
    return inTextForm(response);
  };
  return Object.assign(handle, handler);
}

function inTextForm(response: UniversalServerResponse): UniversalServerResponse {
  const header = new Headers(response.header);
  if (!header.get("content-type")?.startsWith("application/grpc-web")) return response;
  header.set("content-type", "application/grpc-web-text+proto");
  return { ...response, header, ...(response.body ? { body: encoded(response.body) } : {}) };
}

async function* decoded(body: AsyncIterable<Uint8Array>, messageBytes: number): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBase64Bytes(PREFIX_BYTES + messageBytes)) {
      throw new ConnectError(`The message must not be larger than ${messageBytes} bytes.`, Code.ResourceExhausted);
    }
    chunks.push(chunk);
  }
  try {
    yield fromBase64(Buffer.concat(chunks));
  } catch (error) {
    throw toConnectError(toFault(error));
  }
}

/** Each chunk is padded by itself, to reach a watching client at once. */
async function* encoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield Buffer.from(Buffer.from(chunk).toString("base64"));
}
