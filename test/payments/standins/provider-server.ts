import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ProviderRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ProviderResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The fault of one request, and whether the service has acted before it. */
export interface ServiceFault {
  /** `silence` holds the connection without a byte; `cut` closes it in the middle of the response. */
  readonly response: "silence" | "reset" | "cut" | "garbage" | 500 | 429;
  readonly acted: boolean;
}

/** Every way in which a service's response can leave the outcome unknown, and its response if nothing happened. */
export const SERVICE_FAULTS: readonly ServiceFault[] = [
  { response: "silence", acted: false },
  { response: "silence", acted: true },
  { response: "reset", acted: false },
  { response: "reset", acted: true },
  { response: "cut", acted: true },
  { response: "garbage", acted: false },
  { response: "garbage", acted: true },
  { response: 500, acted: false },
  { response: 500, acted: true },
  { response: 429, acted: false },
];

export interface ProviderServer extends AsyncDisposable {
  readonly url: string;
  /** All requests so far, also those that a fault swallowed. */
  readonly requests: readonly ProviderRequest[];
  /** The next requests with this method and path meet these faults, one each. */
  fail(matching: RegExp, ...faults: readonly ServiceFault[]): void;
  /** Whether a request that is to come gets no response. */
  willBeSilent(): boolean;
}

/** A payment service on loopback: real sockets, real bytes, with faults on demand. */
export async function serveProvider(respond: (request: ProviderRequest) => ProviderResponse): Promise<ProviderServer> {
  const requests: ProviderRequest[] = [];
  const planned: { matching: RegExp; fault: ServiceFault }[] = [];
  const open = new Set<Socket>();
  const server = createServer((incoming, response) => {
    void readRequest(incoming).then((request) => {
      requests.push(request);
      const index = planned.findIndex(({ matching }) => matching.test(`${request.method} ${request.path}`));
      const fault = index < 0 ? undefined : planned.splice(index, 1)[0]?.fault;
      if (fault === undefined) send(response, respond(request));
      else misbehave(response, fault, fault.acted ? respond(request) : undefined);
    });
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    fail(matching, ...faults) {
      planned.push(...faults.map((fault) => ({ matching, fault })));
    },
    willBeSilent: () => planned.some(({ fault }) => fault.response === "silence"),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ProviderRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  const url = new URL(incoming.url ?? "/", "http://127.0.0.1");
  return {
    method: incoming.method ?? "",
    path: url.pathname,
    query: url.searchParams,
    headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
    body: Buffer.concat(chunks).toString("utf8"),
  };
}

function send(response: ServerResponse, { status, body, headers = {} }: ProviderResponse): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

function misbehave(
  response: ServerResponse,
  { response: kind }: ServiceFault,
  true_: ProviderResponse | undefined,
): void {
  switch (kind) {
    case "silence":
      return;
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "cut": {
      const body = true_?.body ?? '{"id":';
      response.writeHead(200, { "content-type": "application/json", "content-length": body.length + 1 });
      response.write(body.slice(0, body.length / 2), () => response.socket?.destroy());
      return;
    }
    case "garbage":
      send(response, { status: 200, body: "<html>Bad gateway</html>", headers: { "content-type": "text/html" } });
      return;
    default:
      send(response, { status: kind, body: "" });
  }
}
