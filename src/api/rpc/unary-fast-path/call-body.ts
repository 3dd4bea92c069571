import type { IncomingMessage } from "node:http";
import { Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import type { Readable } from "node:stream";
import type { BodyLimits } from "../../../memory/collect-body.js";
import { StreamRequest } from "../../connection/stream-exchange.js";
import { announcedLength } from "../../request/content-length.js";

/** Where to read the body of a call, and what is known of its length. */
interface CallBody extends Pick<BodyLimits, "announced" | "hasArrived"> {
  readonly stream: Readable;
}

/**
 * The body of a call. Over HTTP/2 nearly every message comes in one packet with its headers. It is taken from the stream
 * at once when all packets of this turn of the event loop are read: Node's request would need six listeners and two more
 * turns.
 */
export async function readCallBody(request: IncomingMessage | StreamRequest): Promise<CallBody> {
  if (!(request instanceof StreamRequest || request instanceof Http2ServerRequest)) return slowly(request, request);
  const { stream } = request;
  if (!hasArrived(stream)) await endOfTurn();
  if (!hasArrived(stream)) return slowly(request, request instanceof StreamRequest ? stream : request);
  return { stream, announced: stream.readableLength, hasArrived: true };
}

function slowly(request: IncomingMessage | StreamRequest, stream: Readable): CallBody {
  return { stream, announced: announcedLength(request) };
}

function hasArrived(stream: ServerHttp2Stream): boolean {
  return stream.readableLength > 0 && !stream.aborted && !stream.destroyed && stream.state.remoteClose === 1;
}

let turn: Promise<void> | undefined;

/** Resolves for all calls at once: a timer of its own for each would cost as much as it saves. */
function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
