import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type LoadOptions, type LoadRequest, type LoadResult, Tally } from "./load.js";

/** Streams per connection, as gRPC clients use them. */
const STREAMS = 8;
/** The status of a call without a message. A failed unary call has none: its status is in its only headers. */
const NO_MESSAGE = -1;

/**
 * Sends unary gRPC calls over cleartext HTTP/2, with `connections` calls in flight. The body of a request is the
 * message; its frame is added here. Uses plain sockets, as for HTTP/1.1: Node's own client needs half as much processor
 * time per call as the server does.
 */
export async function loadOverGrpc(options: LoadOptions): Promise<LoadResult> {
  const tally = new Tally(options.warmUp, options.duration);
  let sent = 0;
  const next = () => options.request(sent++);
  const count = Math.ceil(options.connections / (options.streams ?? STREAMS));
  const runs = Array.from({ length: count }, async (_, index) => {
    const socket = connect(options.port, options.host);
    socket.setNoDelay(true);
    await once(socket, "connect");
    const streams = Math.ceil((options.connections - index) / count);
    const { read = () => {} } = options;
    await drive(socket, { authority: `${options.host}:${options.port}`, streams, next, read, tally });
    socket.destroy();
  });
  await Promise.all(runs);
  return tally.result();
}

interface Drive {
  readonly authority: string;
  readonly streams: number;
  readonly next: () => LoadRequest;
  readonly read: (message: Buffer) => void;
  readonly tally: Tally;
}

/** Frame types and flags of RFC 9113, section 6. */
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const [END_STREAM, END_HEADERS, ACK] = [1, 4, 1];
const FRAME_HEAD_BYTES = 9;
/** Length prefix of a message: one byte of flags, four bytes of length. */
const PREFIX_BYTES = 5;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
/** The maximum (2^31-1 with the initial 65,535): flow control never blocks the responses of a run. */
const WINDOW = Buffer.alloc(4);
WINDOW.writeUInt32BE(2 ** 31 - 1 - 65_535);

/** Keeps this many streams of a connection busy. They send far less than the windows that the server keeps open. */
function drive(socket: Socket, { authority, streams, next, read: readMessage, tally }: Drive): Promise<void> {
  return new Promise((resolve, reject) => {
    const open = new Map<number, { readonly startedAt: number; status: number }>();
    let lastId = -1;
    let pending: Buffer = Buffer.alloc(0);
    // Clients hold back calls for which the server allows no stream. Those calls wait all the same.
    const waiting: number[] = [];
    let maxStreams = 0;
    const call = () => {
      if (!tally.isOver) waiting.push(performance.now());
      while (open.size < maxStreams) {
        const startedAt = waiting.shift();
        if (startedAt === undefined) return;
        lastId += 2;
        open.set(lastId, { startedAt, status: NO_MESSAGE });
        socket.write(encodeCall(lastId, authority, next()));
      }
    };
    const read = (type: number, flags: number, id: number, payload: Buffer) => {
      const stream = open.get(id);
      if (type === SETTINGS && !(flags & ACK)) {
        const isFirst = maxStreams === 0;
        maxStreams = maxStreamsOf(payload);
        socket.write(frame(SETTINGS, ACK, 0));
        for (let n = 0; n < streams && isFirst; n += 1) call();
      }
      if (type === PING && !(flags & ACK)) socket.write(frame(PING, ACK, 0, payload));
      else if (type === GOAWAY || type === RST_STREAM) socket.destroy();
      else if (stream && type === DATA && payload.length >= PREFIX_BYTES) {
        stream.status = 0;
        readMessage(payload.subarray(PREFIX_BYTES));
      }
      if (!stream || !(type === DATA || type === HEADERS) || !(flags & END_STREAM)) return;
      open.delete(id);
      tally.countResponse(stream.status, stream.startedAt);
      call();
      if (open.size === 0) resolve();
    };
    socket.on("data", (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      while (pending.length >= FRAME_HEAD_BYTES) {
        const end = FRAME_HEAD_BYTES + pending.readUIntBE(0, 3);
        if (pending.length < end) return;
        const [type = 0, flags = 0] = pending.subarray(3, 5);
        read(type, flags, pending.readUInt32BE(5), pending.subarray(FRAME_HEAD_BYTES, end));
        pending = pending.subarray(end);
      }
    });
    socket.once("error", reject);
    socket.once("close", () => (tally.isOver ? resolve() : reject(new Error("the server closed a connection"))));
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), frame(WINDOW_UPDATE, 0, 0, WINDOW)]));
  });
}

/** RFC 9113, 6.5.2: SETTINGS_MAX_CONCURRENT_STREAMS. */
const MAX_CONCURRENT_STREAMS = 3;

function maxStreamsOf(settings: Buffer): number {
  for (let at = 0; at + 6 <= settings.length; at += 6) {
    if (settings.readUInt16BE(at) === MAX_CONCURRENT_STREAMS) return settings.readUInt32BE(at + 2);
  }
  return Number.POSITIVE_INFINITY;
}

function frame(type: number, flags: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

function encodeCall(id: number, authority: string, { path, headers, body = Buffer.alloc(0) }: LoadRequest): Buffer {
  const fields = {
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": authority,
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...headers,
  };
  const block = Buffer.concat(Object.entries(fields).map(([name, value]) => literal(name, value)));
  const message = Buffer.alloc(PREFIX_BYTES + body.length);
  message.writeUInt32BE(body.length, 1);
  body.copy(message, PREFIX_BYTES);
  return Buffer.concat([frame(HEADERS, END_HEADERS, id, block), frame(DATA, END_STREAM, id, message)]);
}

/** RFC 7541, 6.2.2: a header with name and value, without compression or indexing. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

/** RFC 7541, 5.2: a string with its length; from 127 on the length continues in further bytes. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  if (bytes.length >= 255) throw new Error("a header is longer than this generator sends");
  return Buffer.concat([Buffer.from([127, bytes.length - 127]), bytes]);
}
