import { once } from "node:events";
import { createServer as createHttp1, type RequestListener } from "node:http";
import { createServer as createHttp2, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcp, type Server, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";

/** A listener in place of the vault. */
export interface Gate extends AsyncDisposable {
  readonly host: string;
}

/** Speaks HTTP/1.1 only. */
export function http1(listener: RequestListener): Promise<Gate> {
  return gate(createHttp1(listener));
}

/** Speaks HTTP/2 in clear text. */
export function http2(onStream: (stream: ServerHttp2Stream) => void): Promise<Gate> {
  const server = createHttp2();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    onStream(stream);
  });
  return gate(server);
}

/** Accepts connections and sends nothing. */
export function silent(): Promise<Gate> {
  return gate(createTcp());
}

/** Speaks TLS, without an agreed protocol inside. */
export function tls({ cert, key }: { readonly cert: string; readonly key: string }): Promise<Gate> {
  return gate(createTls({ cert, key }, (socket) => socket.on("error", () => {})));
}

async function gate(server: Server): Promise<Gate> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    host: `127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
