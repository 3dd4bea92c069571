/** Frames of HTTP/2 (RFC 9113) as no client library would send them. */

export const PREFACE = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]);

/** The headers of a request whose body follows, each spelled out (RFC 7541, 6.2.2). */
export function headersFrame(stream: number, headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return frame(1, 4, stream, Buffer.concat(headers.map(([name, value]) => literal(name, value))));
}

/** @param isLast nothing follows: the request is complete. */
export function dataFrame(stream: number, data: string | Buffer, isLast = false): Buffer {
  return frame(0, isLast ? 1 : 0, stream, Buffer.from(data));
}

/** Whether whole frames hold one by which the other side takes more of a stream's data. */
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

/** Lengths from 127 on go into further bytes of seven bits (RFC 7541, 5.1). */
function text(given: string): Buffer {
  const bytes = Buffer.from(given, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
