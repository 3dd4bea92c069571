/**
 * Frames on the socket between the service and the runner: length of the rest (4 bytes, big-endian), kind (1), id of the
 * request (16), number (4), payload.
 */
export const FrameKind = {
  /** Service to runner, once: the runner's settings as JSON. */
  configure: 1,
  /** Service to runner: a run. Payload: two parts, its header and its arguments. */
  run: 2,
  /** Service to runner: the response to the host call of this number. */
  hostReply: 3,
  cancel: 4,
  /** Service to runner: code as text, to be compiled only. */
  compile: 5,
  ping: 6,
  /** Runner to service: ready for runs. */
  ready: 33,
  /** Runner to service: two parts, the report of a run (JSON) and its value. */
  result: 34,
  hostCall: 35,
  /** Runner to service: its health, as JSON. */
  pong: 36,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export interface Frame {
  readonly kind: FrameKind;
  /** 32 hexadecimal digits: identifies the run or compilation without revealing its tenant. */
  readonly requestId: string;
  /** Number of the host call; 0 in other frames. */
  readonly number: number;
  readonly payload: Buffer;
}

/** For frames that belong to no request. */
export const NO_REQUEST = "0".repeat(32);

const LENGTH_BYTES = 4;
const HEAD_BYTES = 1 + 16 + 4;
const kinds: ReadonlySet<number> = new Set(Object.values(FrameKind));

function isFrameKind(kind: number): kind is FrameKind {
  return kinds.has(kind);
}

/** The bytes before the payload. Head and payload are written separately, to avoid copying the payload. */
export function frameHead(kind: FrameKind, requestId: string, number: number, payloadBytes: number): Buffer {
  const head = Buffer.allocUnsafe(LENGTH_BYTES + HEAD_BYTES);
  head.writeUInt32BE(HEAD_BYTES + payloadBytes, 0);
  head.writeUInt8(kind, 4);
  head.write(requestId, 5, 16, "hex");
  head.writeUInt32BE(number, 21);
  return head;
}

export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #held = 0;
  /** Bytes required before the next parsing step. */
  #wanted = LENGTH_BYTES;

  /** @param maxBytes size limit of a frame: reading stops at a larger one. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The frames completed by this chunk.
   * @throws ProtocolError for an invalid length or kind.
   */
  *read(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    while (this.#held >= this.#wanted) {
      const bytes = this.#joined();
      const length = bytes.readUInt32BE(0);
      if (length < HEAD_BYTES || length > this.#maxBytes) throw new ProtocolError("a frame has an impossible length");
      const end = LENGTH_BYTES + length;
      if (bytes.length < end) {
        this.#wanted = end;
        return;
      }
      this.#keep(bytes.subarray(end));
      yield readFrame(bytes.subarray(LENGTH_BYTES, end));
    }
  }

  /** Joins once per frame, not once per chunk: a frame of 5 MB arrives in some eighty chunks. */
  #joined(): Buffer {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks, this.#held);
    this.#chunks = [bytes];
    return bytes;
  }

  #keep(rest: Buffer): void {
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#held = rest.length;
    this.#wanted = LENGTH_BYTES;
  }
}

function readFrame(bytes: Buffer): Frame {
  const kind = bytes.readUInt8(0);
  if (!isFrameKind(kind)) throw new ProtocolError("a frame has an unknown kind");
  return {
    kind,
    requestId: bytes.toString("hex", 1, 17),
    number: bytes.readUInt32BE(17),
    payload: bytes.subarray(HEAD_BYTES),
  };
}

/** The head of a payload of two parts: the bytes before the first and the second. */
export function partsHead(firstBytes: number): Buffer {
  const head = Buffer.allocUnsafe(4);
  head.writeUInt32BE(firstBytes, 0);
  return head;
}

/** @throws ProtocolError if the first part is longer than the payload. */
export function readParts(payload: Buffer): { readonly first: Buffer; readonly second: Buffer } {
  const length = payload.length < 4 ? Number.POSITIVE_INFINITY : payload.readUInt32BE(0);
  if (length > payload.length - 4) throw new ProtocolError("the parts of a frame are longer than the frame");
  return { first: payload.subarray(4, 4 + length), second: payload.subarray(4 + length) };
}
