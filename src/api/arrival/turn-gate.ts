import { CallerTurns, processorTurns, runFor } from "../../base/caller-turns.js";
import type { TenantId } from "../../base/ids.js";
import type { Flow, ProcessorTurns } from "../../base/processor-turns.js";
import { MAX_PENDING, OverloadDetector } from "../../store/transactions/overload-detector.js";
import type { ReadClient } from "../connection/client-address.js";
import type { ArrivedRequest, WholeResponse } from "../connection/exchange.js";

/** Requests that may wait for their first turn, of all callers. Each keeps its connection and what its socket read. */
const MAX_WAITING = 10_000;

/** What the gate knows of callers before their keys are checked. */
export interface CallersByKey {
  /** The tenant of a secret key that was valid at its last look-up. Undefined for public keys, and every other text. */
  tenantOf(apiKey: string): TenantId | undefined;
}

/**
 * Where requests wait before anything of theirs but the headers is read. A request counts for its tenant if its key is
 * known and secret, which proves that the caller has it; all others count for their network, because the tenant that a
 * key names is anybody's to write, and a public key is in web pages.
 */
export class TurnGate {
  readonly #callers: CallersByKey;
  readonly #readNetwork: ReadClient;
  readonly #turns: ProcessorTurns;
  /** Of callers with so many waiting requests that they may be overloading the server. */
  readonly #detectors = new Map<string, OverloadDetector>();
  #waiting = 0;

  constructor(callers: CallersByKey, readNetwork: ReadClient, turns: ProcessorTurns = processorTurns) {
    this.#callers = callers;
    this.#readNetwork = readNetwork;
    this.#turns = turns;
  }

  /** For whom the steps of a request count. */
  callerOf(request: ArrivedRequest): CallerTurns {
    return new CallerTurns(() => this.#flowOf(request), this.#turns);
  }

  /**
   * Whether a request may wait here: not of a caller that has overloaded the server for a second, and not if as many of
   * its caller wait as there are places left: some are always left for a newcomer.
   */
  hasSlot(caller: CallerTurns): boolean {
    if (this.#waiting === 0) return true;
    const flow = caller.flow();
    const waiting = this.#turns.waitingOf(flow);
    if (waiting >= MAX_WAITING - this.#waiting) return false;
    return waiting < MAX_PENDING || !this.#detectorOf(flow).isOverloaded(waiting, performance.now());
  }

  /** Serves a request in a turn of its caller. Drops it if the caller disconnects first. */
  enter(caller: CallerTurns, response: Pick<WholeResponse, "destroyed">, serve: () => void): void {
    const turn = caller.begin();
    if (!turn) {
      runFor(caller, serve);
      return;
    }
    this.#waiting += 1;
    const flow = caller.flow();
    void turn.then(() => {
      this.#waiting -= 1;
      // Not when its next request arrives: a network may never send one.
      if (this.#turns.waitingOf(flow) < MAX_PENDING) this.#detectors.delete(nameOf(flow));
      if (!response.destroyed) runFor(caller, serve);
    });
  }

  #detectorOf(flow: Flow): OverloadDetector {
    const name = nameOf(flow);
    const known = this.#detectors.get(name) ?? new OverloadDetector();
    this.#detectors.set(name, known);
    return known;
  }

  #flowOf(request: ArrivedRequest): Flow {
    const key = request.headers["bt-api-key"];
    const tenantId = typeof key === "string" ? this.#callers.tenantOf(key) : undefined;
    return tenantId === undefined
      ? { kind: "network", name: this.#readNetwork(request) }
      : { kind: "tenant", name: tenantId };
  }
}

function nameOf({ kind, name }: Flow): string {
  return `${kind} ${name}`;
}
