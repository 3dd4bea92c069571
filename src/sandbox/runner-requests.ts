import { randomBytes } from "node:crypto";
import type { RunFailure } from "./run.js";
import type { ReadyRunner } from "./runner-waiters.js";
import { type Frame, FrameKind, readParts } from "./wire/frame.js";

export interface RunnerRequest {
  /** @throws ProtocolError for an invalid response. */
  readonly onResult: (report: Buffer, value: Buffer) => void;
  readonly onHostCall: (payload: Buffer) => Promise<Buffer | undefined>;
  readonly fail: (reason: RunFailure) => void;
  /** Withdraws a compilation of this tenant after its circuit breaker opened. Has no effect on other tasks. */
  readonly withdrawCompilation: (tenantId: string) => void;
}

export class RunnerRequests {
  readonly #pending = new Map<string, RunnerRequest>();
  readonly #onSilence: () => void;

  /** @param onSilence called when the runner has not answered a request in time. */
  constructor(onSilence: () => void) {
    this.#onSilence = onSilence;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** @returns the id under which the runner responds: unguessable and meaningless. */
  add(withinMs: number, request: RunnerRequest): string {
    const id = randomBytes(16).toString("hex");
    const timer = setTimeout(this.#onSilence, withinMs);
    this.#pending.set(id, {
      ...request,
      onResult: (report, value) => {
        clearTimeout(timer);
        // Removed after this, because an unreadable response ends the runner and fails all pending requests.
        request.onResult(report, value);
        this.#pending.delete(id);
      },
      fail: (reason) => {
        clearTimeout(timer);
        this.#pending.delete(id);
        request.fail(reason);
      },
    });
    return id;
  }

  receive(runner: ReadyRunner, { kind, requestId, number, payload }: Frame): void {
    const request = this.#pending.get(requestId);
    // The caller cancelled the run, and the runner does not know yet.
    if (request === undefined) return;
    if (kind === FrameKind.result) {
      const { first, second } = readParts(payload);
      request.onResult(first, second);
    } else if (kind === FrameKind.hostCall) {
      void this.#callHost(runner, request, { requestId, number, payload });
    }
  }

  async #callHost(
    runner: ReadyRunner,
    request: RunnerRequest,
    { requestId, number, payload }: Omit<Frame, "kind">,
  ): Promise<void> {
    const reply = await request.onHostCall(payload);
    if (reply && this.#pending.has(requestId)) runner.socket.send(FrameKind.hostReply, requestId, reply, number);
  }

  /** Tells the runner to stop working on a request, and fails it. */
  cancel(runner: ReadyRunner, id: string, reason: RunFailure): void {
    runner.socket.send(FrameKind.cancel, id);
    this.#pending.get(id)?.fail(reason);
  }

  withdrawCompilations(tenantId: string): void {
    for (const request of [...this.#pending.values()]) request.withdrawCompilation(tenantId);
  }

  failAll(reason: RunFailure): void {
    for (const request of [...this.#pending.values()]) request.fail(reason);
  }
}
