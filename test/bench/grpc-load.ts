import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { type LoadOptions, type LoadResult, Tally } from "./load.js";

/** Streams that share a connection, as gRPC clients do. */
const STREAMS = 8;

/**
 * Sends unary gRPC calls over cleartext HTTP/2, with as many in flight as `connections` says. The body of a request is
 * the message; its frame is added here.
 */
export async function loadOverGrpc(options: LoadOptions): Promise<LoadResult> {
  const tally = new Tally(options.warmUp, options.duration);
  let sent = 0;
  const sessions = await Promise.all(
    Array.from({ length: Math.ceil(options.connections / STREAMS) }, async () => {
      const session = connect(`http://${options.host}:${options.port}`);
      await once(session, "connect");
      return session;
    }),
  );
  await Promise.all(
    Array.from({ length: options.connections }, async (_, index) => {
      const session = sessions[index % sessions.length];
      if (!session) return;
      while (!tally.isOver) {
        const startedAt = performance.now();
        tally.answered(await call(session, options, sent++), startedAt);
      }
    }),
  );
  for (const session of sessions) session.close();
  return tally.result();
}

/** Resolves with the grpc-status. */
function call(session: ClientHttp2Session, { request }: LoadOptions, n: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const { path, headers, body = Buffer.alloc(0) } = request(n);
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...headers,
    });
    let status = -1;
    stream.on("response", (head) => {
      if (head["grpc-status"] !== undefined) status = Number(head["grpc-status"]);
    });
    stream.on("trailers", (trailers) => {
      status = Number(trailers["grpc-status"]);
    });
    stream.on("data", () => {});
    stream.once("close", () => resolve(status));
    stream.once("error", reject);
    const frame = Buffer.alloc(5 + body.length);
    frame.writeUInt32BE(body.length, 1);
    body.copy(frame, 5);
    stream.end(frame);
  });
}
