import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Identity } from "../../../egress/certificates.js";

/** A request as it was on the wire. */
export interface RawRequest {
  /** Without line ends, latin1. */
  readonly line: string;
  /** In their order, case and repetition. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** The value of a header, ignoring case. */
  header(name: string): string | undefined;
}

export interface Destination extends AsyncDisposable {
  readonly port: number;
  /** https if it has a certificate. */
  readonly url: string;
  /** Complete requests so far. */
  readonly requests: readonly RawRequest[];
  /** Connections opened so far, and those still open. */
  readonly opened: number;
  readonly open: ReadonlySet<Socket>;
  /** The last request so far. */
  last(): RawRequest;
}

/** Writes a response: its bytes, or by hand. */
export type Reply = string | Buffer | ((socket: Socket, request: RawRequest) => void);

/** Bytes of a response with this body. */
export function httpResponse(status: string, headers: readonly string[], body: string | Buffer = ""): Buffer {
  const bytes = Buffer.from(body);
  const head = [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${bytes.length}`];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), bytes]);
}

const FINE = httpResponse("200 OK", ["Content-Type: text/plain"], "fine");

/** An HTTP/1.1 server on plain sockets: it keeps every byte that it receives, and returns bytes. */
export async function startDestination(
  reply: Reply = FINE,
  identity?: Identity,
  { host, port: wanted }: { readonly host: string; readonly port: number } = { host: "127.0.0.1", port: 0 },
): Promise<Destination> {
  const requests: RawRequest[] = [];
  const open = new Set<Socket>();
  let opened = 0;
  const serve = (socket: Socket) => {
    opened += 1;
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
    let pending = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let read = readRequest(pending); read; read = readRequest(pending)) {
        pending = pending.subarray(read.end);
        requests.push(read.request);
        if (typeof reply === "function") reply(socket, read.request);
        else socket.write(reply);
      }
    });
  };
  const server = identity ? createTlsServer({ ...identity }, serve) : createServer(serve);
  server.listen(wanted, host);
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    url: `${identity ? "https" : "http"}://${host}:${port}`,
    requests,
    open,
    get opened() {
      return opened;
    },
    last() {
      const request = requests.at(-1);
      if (!request) throw new Error("the destination was not asked");
      return request;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function readRequest(bytes: Buffer): { request: RawRequest; end: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [line = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = lines.map((text) => {
    const colon = text.indexOf(":");
    return [text.slice(0, colon), text.slice(colon + 1).trim()] as const;
  });
  const header = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted.toLowerCase())?.[1];
  const start = headEnd + 4;
  if (header("transfer-encoding")?.toLowerCase() === "chunked") {
    const chunked = readChunks(bytes, start);
    return chunked && { request: { line, headers, header, body: chunked.body }, end: chunked.end };
  }
  const end = start + Number(header("content-length") ?? 0);
  if (bytes.length < end) return undefined;
  return { request: { line, headers, header, body: bytes.subarray(start, end) }, end };
}

function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), end: next };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
