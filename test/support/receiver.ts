import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Identity } from "../egress/certificates.js";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A server that records its requests. `statuses` are its responses in turn; 200 after the last. With an identity: TLS.
 */
export async function startReceiver(statuses: readonly number[] = [], identity?: Identity): Promise<Receiver> {
  const received: Received[] = [];
  const receive: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      response.writeHead(statuses[received.length] ?? 200).end();
      received.push({ method, path, headers, body: Buffer.concat(chunks).toString() });
    });
  };
  const server = identity ? createTlsServer(identity, receive) : createServer(receive);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port }: AddressInfo = Object(server.address());
  return {
    url: `${identity ? "https" : "http"}://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
