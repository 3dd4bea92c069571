import type { EncodedObject } from "./encode.js";

/** The end of a call before its response, by its timeout or its caller. */
export interface CallEnd {
  /** Undefined while the call may go on. */
  readonly ended: "timeout" | "canceled" | undefined;
  /** A new signal for each use. */
  readonly signal: AbortSignal;
  /** Calls a listener when the call ends. Returns a function that removes it. */
  onEnd(listener: () => void): () => void;
  /** Waits for a promise. Rejects if the call ends first. */
  orEnd<T>(value: T | Promise<T>): Promise<T>;
}

/** One attempt of a call. */
export interface Attempt {
  /** Such as `TokenService/CreateToken`. */
  readonly method: string;
  readonly message: EncodedObject;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the attempt even if the server never responds. */
  readonly end: CallEnd;
  /** The rest of the call's time, which the server receives; Infinity if the call has no limit. */
  readonly timeoutMs: number;
}

export interface AttemptResponse {
  /** JSON of protobuf, whose times may already be Dates. */
  readonly message: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** Carries attempts to the server: over gRPC in Node, over Connect and fetch elsewhere. */
export interface Transport {
  /** @throws {AttemptError} */
  send(attempt: Attempt): Promise<AttemptResponse>;
  /**
   * Opens a stream and passes its messages, as JSON of protobuf. Absent where streams are not supported.
   * @throws {AttemptError} for any end but the caller's and the one that the server says is good.
   */
  open?(attempt: Attempt): AsyncGenerator<unknown, void>;
}

export const PACKAGE = "cloakroom.v1";
