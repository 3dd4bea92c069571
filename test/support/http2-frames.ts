/** Frames of HTTP/2 (RFC 9113) as no client library would send them. */

export const PREFACE = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]);

/** The headers of a request whose body follows, each a literal (RFC 7541, 6.2.2). */
export function headersFrame(stream: number, headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return frame(1, 4, stream, Buffer.concat(headers.map(([name, value]) => literal(name, value))));
}

/** @param isLast nothing follows: the request is complete. */
export function dataFrame(stream: number, data: string | Buffer, isLast = false): Buffer {
  return frame(0, isLast ? 1 : 0, stream, Buffer.from(data));
}

/** Whether the frames contain one with which the peer allows more of a stream's data. */
export function hasWindowUpdate(frames: Buffer, stream: number): boolean {
  for (let at = 0; at + 9 <= frames.length; at += 9 + frames.readUIntBE(at, 3)) {
    if (frames[at + 3] === 8 && frames.readUInt32BE(at + 5) === stream) return true;
  }
  return false;
}

export function resetFrame(stream: number, code: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame(3, 0, stream, payload);
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

/** Lengths from 127 on continue in further bytes of seven bits (RFC 7541, 5.1). */
function text(given: string): Buffer {
  const bytes = Buffer.from(given, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** Flags of RFC 9113, 6: `END_STREAM` and `ACK` are the same bit. */
export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;

/** A request without a body whose header block fits into this frame, unless flags say otherwise. */
export function headerBlockFrame(stream: number, block: Buffer, flags = END_STREAM | END_HEADERS): Buffer {
  return frame(1, flags, stream, block);
}

/** The header block of a request, all literals. */
export function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(headers.map(([name, value]) => literal(name, value)));
}

/** A header that is added to the dynamic table (RFC 7541, 6.2.1): it has index 62 from then on. */
export function indexedLiteral(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40]), text(name), text(value)]);
}

/** A header by its index in the tables (RFC 7541, 6.1). */
export const indexed = (index: number) => Buffer.from([0x80 | index]);

export function continuationFrame(stream: number, block: Buffer, flags = 0): Buffer {
  return frame(9, flags, stream, block);
}

export function settingsFrame(settings: Readonly<Record<number, number>> = {}): Buffer {
  const pairs = Object.entries(settings).map(([id, value]) => {
    const pair = Buffer.alloc(6);
    pair.writeUInt16BE(Number(id), 0);
    pair.writeUInt32BE(value, 2);
    return pair;
  });
  return frame(4, 0, 0, Buffer.concat(pairs));
}

export const pingFrame = () => frame(6, 0, 0, Buffer.alloc(8));

export function windowUpdateFrame(stream: number, increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment);
  return frame(8, 0, stream, payload);
}

export const emptyDataFrame = (stream: number) => frame(0, 0, stream);

export function priorityFrame(stream: number, on: number): Buffer {
  const payload = Buffer.alloc(5);
  payload.writeUInt32BE(on);
  return frame(2, 0, stream, payload);
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const RST_STREAM = 3;
export const GOAWAY = 7;

/** The complete frames of a server's output. */
export function framesIn(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const stream = bytes.readUInt32BE(at + 5);
    frames.push({ type: bytes[at + 3] ?? 0, flags: bytes[at + 4] ?? 0, stream, payload: bytes.subarray(at + 9, end) });
    at = end;
  }
  return frames;
}

/** A frame of any type, valid or not. */
export function anyFrame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  return frame(type, flags, stream, payload);
}
