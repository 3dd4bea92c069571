import { Histogram } from "./histogram.js";

/** One request that a load generator sends. */
export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface LoadOptions {
  readonly host: string;
  readonly port: number;
  /** Requests in flight; over HTTP/1.1 each has its own connection. */
  readonly connections: number;
  /** gRPC calls per connection. Default: as many as clients use by default. */
  readonly streams?: number | undefined;
  /** Takes the message of each gRPC response. Default: messages are not read. */
  readonly read?: ((message: Buffer) => void) | undefined;
  /** Warm-up in milliseconds, which is not counted, then the measured time in milliseconds. */
  readonly warmUp: number;
  readonly duration: number;
  /** The n-th request. */
  request(n: number): LoadRequest;
}

export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly latencies: Histogram;
  /** Responses by status; gRPC responses by their grpc-status. */
  readonly statuses: ReadonlyMap<number, number>;
}

/** Counts responses between the end of the warm-up and the end of the run. */
export class Tally {
  readonly latencies = new Histogram();
  readonly statuses = new Map<number, number>();
  readonly #from: number;
  readonly #until: number;

  constructor(warmUp: number, duration: number) {
    this.#from = performance.now() + warmUp;
    this.#until = this.#from + duration;
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  countResponse(status: number, startedAt: number): void {
    const now = performance.now();
    if (now < this.#from || now >= this.#until) return;
    this.latencies.add(now - startedAt);
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  result(): LoadResult {
    const seconds = (this.#until - this.#from) / 1_000;
    return { requestsPerSecond: this.latencies.count / seconds, latencies: this.latencies, statuses: this.statuses };
  }
}
