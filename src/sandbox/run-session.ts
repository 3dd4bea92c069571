import { BtRefusal, type HostCalls, HostFailure } from "./host-calls.js";
import type { RunLimits } from "./limits.js";
import type { RunOutcome } from "./run.js";
import { type HostCall, type HostReply, readHostCall } from "./wire/host-call.js";

/**
 * The service's state of one run in progress. The runner names it by an unguessable id; its tenant and permissions are
 * known here only, so no message of the runner can widen them.
 */
export class RunSession {
  readonly outcome: Promise<RunOutcome>;
  readonly #settle: (outcome: RunOutcome) => void;
  readonly #hosts: HostCalls;
  readonly #limits: RunLimits;
  readonly #calls = new AbortController();
  #inFlight = 0;
  #made = 0;

  constructor(hosts: HostCalls, limits: RunLimits) {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    this.outcome = promise;
    this.#settle = resolve;
    this.#hosts = hosts;
    this.#limits = limits;
  }

  /** Ends the run: aborts host calls in progress, and drops their results. */
  end(outcome: RunOutcome): void {
    this.#calls.abort();
    this.#settle(outcome);
  }

  /**
   * Makes a host call. Guest and runner enforce the limits too; they are enforced here because neither is trusted.
   * @returns the reply as JSON, or undefined if the run has ended meanwhile.
   */
  async call(payload: Buffer): Promise<Buffer | undefined> {
    this.#made += 1;
    this.#inFlight += 1;
    try {
      const reply = await this.#reply(payload);
      return this.#calls.signal.aborted ? undefined : this.#sized(reply);
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #reply(payload: Buffer): Promise<HostReply> {
    const limits = this.#limits;
    if (this.#made > limits.hostCalls) return refusal("ELIMIT", `one run may make ${limits.hostCalls} calls`);
    if (this.#inFlight > limits.hostCallsInFlight) {
      return refusal("ELIMIT", `one run may have ${limits.hostCallsInFlight} calls under way`);
    }
    if (payload.length > limits.hostCallBytes) return refusal("ELIMIT", tooLarge("request", limits));
    try {
      return { ok: await this.#make(readHostCall(payload)) };
    } catch (error) {
      if (error instanceof BtRefusal) return { refused: { status: error.status, body: error.body } };
      if (error instanceof HostFailure) return refusal(error.code, error.message);
      return refusal("EFAILED", "the call failed");
    }
  }

  async #make(call: HostCall): Promise<Extract<HostReply, { ok: unknown }>["ok"]> {
    const { signal } = this.#calls;
    if (call.to === "bt") {
      if (!this.#hosts.bt) throw new HostFailure("EACCES", "this function has no application");
      return await this.#hosts.bt(call.method, call.args, signal);
    }
    const { status, statusText, headers, body } = await this.#hosts.fetch(call.request, signal);
    return { status, statusText, headers: headers.map(([name, value]) => [name, value]), body: { ...body } };
  }

  #sized(reply: HostReply): Buffer {
    const bytes = Buffer.from(JSON.stringify(reply));
    if (bytes.length <= this.#limits.hostCallBytes) return bytes;
    return Buffer.from(JSON.stringify(refusal("ELIMIT", tooLarge("response", this.#limits))));
  }
}

function refusal(code: string, message: string): HostReply {
  return { failed: { code, message } };
}

function tooLarge(what: string, limits: RunLimits): string {
  return `the ${what} is larger than ${limits.hostCallBytes} bytes`;
}
