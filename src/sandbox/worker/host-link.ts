import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { ThreadMessage, WorkerMessage } from "./task.js";

type Deliver = (reply: Uint8Array) => void;

interface LinkedRun {
  readonly abort: AbortController;
  readonly waiting: Map<number, Deliver>;
}

/** The connection of a thread to the service, through the main thread of the runner. */
export class HostLink {
  /** The port for the other end. */
  readonly remote: MessagePort;
  readonly #port: MessagePort;
  readonly #runs = new Map<string, LinkedRun>();
  #numbers = 0;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.remote = port2;
    port1.on("message", (message: ThreadMessage) => this.#receive(message));
  }

  /** Begins a run. @returns a signal that is aborted when the run is cancelled. */
  open(requestId: string): AbortSignal {
    const abort = new AbortController();
    this.#runs.set(requestId, { abort, waiting: new Map() });
    this.#post({ type: "started", requestId });
    return abort.signal;
  }

  /** Ends a run: later replies are dropped. */
  close(requestId: string): void {
    this.#runs.delete(requestId);
  }

  call(requestId: string, payload: Uint8Array<ArrayBuffer>, deliver: Deliver): void {
    this.#numbers += 1;
    this.#runs.get(requestId)?.waiting.set(this.#numbers, deliver);
    this.#post({ type: "hostCall", requestId, number: this.#numbers, payload }, [payload.buffer]);
  }

  #post(message: WorkerMessage, transfer: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #receive(message: ThreadMessage): void {
    const run = this.#runs.get(message.requestId);
    if (run === undefined) return;
    if (message.type === "cancel") {
      run.abort.abort();
      return;
    }
    const deliver = run.waiting.get(message.number);
    run.waiting.delete(message.number);
    deliver?.(message.payload);
  }
}
