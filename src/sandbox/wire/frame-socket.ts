import type { Socket } from "node:net";
import { type Frame, type FrameKind, FrameReader, frameHead, NO_REQUEST, partsHead } from "./frame.js";

export interface FrameHandlers {
  readonly onFrame: (frame: Frame) => void;
  /** Called once, when no further frame can follow. `broke`: the other side violated the protocol. */
  readonly onEnd: (end: { readonly broke: boolean }) => void;
}

/** Either end of the socket pair. */
export class FrameSocket {
  readonly #socket: Socket;
  #ended = false;

  /** @param maxBytes the largest accepted frame. A larger one ends the connection. */
  constructor(socket: Socket, maxBytes: number, handlers: FrameHandlers) {
    this.#socket = socket;
    const reader = new FrameReader(maxBytes);
    const end = (broke: boolean) => {
      if (this.#ended) return;
      this.#ended = true;
      socket.destroy();
      handlers.onEnd({ broke });
    };
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const frame of reader.read(chunk)) {
          if (this.#ended) return;
          handlers.onFrame(frame);
        }
      } catch {
        // The bytes are not reported: they may contain a tenant's data.
        end(true);
      }
    });
    socket.on("error", () => end(false));
    socket.on("close", () => end(false));
  }

  send(kind: FrameKind, requestId = NO_REQUEST, payload: Uint8Array = NOTHING, number = 0): void {
    this.#write([frameHead(kind, requestId, number, payload.length), payload]);
  }

  /** Sends a frame with a payload of two parts, see readParts. */
  sendParts(kind: FrameKind, requestId: string, first: Uint8Array, second: Uint8Array): void {
    const head = frameHead(kind, requestId, 0, 4 + first.length + second.length);
    this.#write([head, partsHead(first.length), first, second]);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Small frames are one write; corked parts go to the kernel together. */
  #write(parts: readonly Uint8Array[]): void {
    if (this.#ended) return;
    this.#socket.cork();
    for (const part of parts) {
      if (part.length > 0) this.#socket.write(part);
    }
    this.#socket.uncork();
  }
}

const NOTHING = new Uint8Array(0);
