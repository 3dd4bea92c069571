import type { ResponseOf } from "../call.js";
import { Calls, type Request } from "../calls.js";
import type { Deadline } from "../deadline.js";
import { CloakroomError, closedClient } from "../errors.js";
import type { CloakroomOptions } from "../options.js";
import type { Shape } from "../shape.js";
import type { Transport } from "../transport.js";
import { CallsUnderWay } from "./calls-under-way.js";

/** A transport that ends with its client. */
export interface ClosableTransport extends Transport {
  /** Ends streams, and refuses further ones. */
  endStreams(): void;
  /** Closes connections, and refuses further attempts. */
  close(): void;
}

/** Calls of a client that can be closed. A call counts from its first line to its end, with its retries. */
export class ClosableCalls extends Calls {
  readonly #transport: ClosableTransport;
  readonly #underWay = new CallsUnderWay();
  /** Calls that wait before they are sent again. */
  readonly #pauses = new Set<() => void>();
  #closing: Promise<void> | undefined;
  #isClosed = false;

  constructor(transport: ClosableTransport, options: CloakroomOptions) {
    super(transport, options);
    this.#transport = transport;
  }

  /** Refuses further calls, ends streams, and waits for the calls under way, for five seconds at most. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  protected override async respond<T>(
    request: Request,
    read: (message: unknown, shape: Shape | undefined) => T,
  ): Promise<ResponseOf<T>> {
    if (this.#closing) {
      const [method, , , , options] = request;
      const call = { method, attempts: 0, idempotencyKey: options?.idempotencyKey };
      throw new CloakroomError(closedClient().failure, call);
    }
    this.#underWay.begin();
    try {
      return await super.respond(request, read);
    } finally {
      this.#underWay.end();
    }
  }

  protected override async sleep(deadline: Deadline, ms: number): Promise<boolean> {
    let stop = () => {};
    const pause = new Promise<void>((resolve) => {
      stop = resolve;
    });
    // Cleared below: it would keep a program running whose client is closed.
    const timer = setTimeout(stop, this.#isClosed ? 0 : ms);
    this.#pauses.add(stop);
    await deadline.orEnd(pause).catch(() => {});
    this.#pauses.delete(stop);
    clearTimeout(timer);
    return !deadline.ended && !this.#isClosed;
  }

  async #close(): Promise<void> {
    this.#transport.endStreams();
    await this.#underWay.settle();
    this.#isClosed = true;
    for (const stop of this.#pauses) stop();
    this.#transport.close();
  }
}
