import type { EncodedObject } from "./encode.js";

/** The end of a call before its answer, by its timeout or its caller. */
export interface CallEnd {
  /** Undefined while the call may go on. */
  readonly ended: "timeout" | "canceled" | undefined;
  /** A signal of its own each time. */
  readonly signal: AbortSignal;
  /** Calls a listener when the call ends. Returns what takes it away. */
  onEnd(listener: () => void): () => void;
  /** Waits for something that knows nothing of the call's end, and rejects where that comes first. */
  orEnd<T>(value: T | Promise<T>): Promise<T>;
}

/** One attempt of a call. */
export interface Attempt {
  /** Such as `TokenService/CreateToken`. */
  readonly method: string;
  readonly message: EncodedObject;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the attempt, also where the server never answers. */
  readonly end: CallEnd;
  /** What is left of the call's time, which the server is told; Infinity where it has no end. */
  readonly timeoutMs: number;
}

export interface AttemptAnswer {
  /** JSON of protobuf. */
  readonly message: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** Carries attempts to the server: over gRPC in Node, over Connect and fetch elsewhere. */
export interface Transport {
  /** @throws {AttemptError} */
  send(attempt: Attempt): Promise<AttemptAnswer>;
  /** Lets calls under way end and closes connections. */
  close(): Promise<void>;
}

export const PACKAGE = "cloakroom.v1";
