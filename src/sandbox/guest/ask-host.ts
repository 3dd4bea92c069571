import type { GuestLimits, Host } from "./host.js";
import { parseJson, toBytes, toText, writeJson } from "./intrinsics.js";

/** A failed host call. `code` is as in Node's errors, or ELIMIT for an exceeded limit of the run. */
export class HostCallError extends Error {
  override readonly name = "HostCallError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The API's refusal of a bt call. */
export class RefusedCall {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    this.status = status;
    this.body = body;
  }
}

interface Waiting {
  readonly payload: Uint8Array;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Calls of bt and fetch: some in progress, some queued. */
export class HostCalls {
  readonly #host: Host;
  readonly #underWay = new Map<number, Waiting>();
  #queue: Waiting[] = [];
  #limits: GuestLimits | undefined;
  #numbers = 0;
  #made = 0;
  /** One error for all calls beyond the limit: a hundred thousand errors would take the memory of the instance. */
  #tooMany: HostCallError | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Begins a run. Calls of an earlier run are never answered. */
  start(limits: GuestLimits): void {
    this.#underWay.clear();
    this.#queue = [];
    this.#limits = limits;
    this.#made = 0;
    this.#tooMany = undefined;
  }

  /** @throws HostCallError or RefusedCall (as a rejection). */
  call(message: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const limits = this.#limits;
      if (limits === undefined) throw new HostCallError("ELIMIT", "no run is under way");
      this.#made += 1;
      if (this.#made > limits.hostCalls) {
        this.#tooMany ??= new HostCallError("ELIMIT", `one run may make ${limits.hostCalls} calls`);
        throw this.#tooMany;
      }
      const payload = toBytes(writeJson(message) ?? "null");
      if (payload.length > limits.hostCallBytes) {
        throw new HostCallError("ELIMIT", `the request is larger than ${limits.hostCallBytes} bytes`);
      }
      this.#queue.push({ payload, resolve, reject });
      this.#sendMore(limits);
    });
  }

  deliver(number: number, payload: Uint8Array): void {
    const waiting = this.#underWay.get(number);
    if (waiting === undefined || this.#limits === undefined) return;
    this.#underWay.delete(number);
    this.#sendMore(this.#limits);
    const reply = parseJson(toText(payload));
    if (isReply(reply, "ok")) waiting.resolve(reply.ok);
    else if (isReply(reply, "refused")) waiting.reject(new RefusedCall(reply.refused.status, reply.refused.body));
    else if (isReply(reply, "failed")) waiting.reject(new HostCallError(reply.failed.code, reply.failed.message));
  }

  #sendMore(limits: GuestLimits): void {
    while (this.#queue.length > 0 && this.#underWay.size < limits.hostCallsInFlight) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#numbers += 1;
      this.#underWay.set(this.#numbers, next);
      this.#host.send(this.#numbers, next.payload);
    }
  }
}

interface Replies {
  readonly ok: { readonly ok: unknown };
  readonly refused: { readonly refused: { readonly status: number; readonly body: unknown } };
  readonly failed: { readonly failed: { readonly code: string; readonly message: string } };
}

/** The service writes replies, so their content needs no check. */
function isReply<K extends keyof Replies>(reply: unknown, key: K): reply is Replies[K] {
  return typeof reply === "object" && reply !== null && key in reply;
}
