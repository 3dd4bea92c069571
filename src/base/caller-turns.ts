import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Flow, ProcessorTurns } from "./processor-turns.js";

export const processorTurns = new ProcessorTurns();

/** The sender of a request: a tenant's back end, or one of its pages, which have keys that anybody can read. */
export type Party = "back end" | "pages";

/** For whom the steps of one request count. */
export class CallerTurns {
  readonly #turns: ProcessorTurns;
  readonly #readFlow: () => Flow;
  /** Requests continue in the order in which they arrived. */
  readonly #order: number;
  #flow: Flow | undefined;

  /** @param readFlow what is known of the caller when the request arrives; called at first use. */
  constructor(readFlow: () => Flow, turns: ProcessorTurns = processorTurns, order = nextOrder()) {
    this.#readFlow = readFlow;
    this.#turns = turns;
    this.#order = order;
  }

  /** For work that several requests of a caller wait for: it comes before what any of them does alone. */
  static ofAll(flow: Flow): CallerTurns {
    return new CallerTurns(() => flow, processorTurns, 0);
  }

  readonly flow = (): Flow => {
    this.#flow ??= this.#readFlow();
    return this.#flow;
  };

  /** A caller that has proved nothing counts as a page: a public key, or one not looked up yet, may be anybody's. */
  get party(): Party {
    return this.flow().kind === "tenant" ? "back end" : "pages";
  }

  /**
   * From here on the steps count for the tenant whose key the caller has proved. Those of pages stay with the network:
   * their key proves nothing.
   */
  prove(tenantId: string, party: Party): void {
    if (party === "back end") this.#flow = { kind: "tenant", name: tenantId };
  }

  /** Resolves when the caller may go on; undefined if it may at once. */
  take(): Promise<void> | undefined {
    return this.#turns.hasRoom(this.flow) ? undefined : this.next();
  }

  /** The same for a request that has just arrived: it comes after what its caller has begun. */
  begin(): Promise<void> | undefined {
    if (this.#turns.hasRoom(this.flow)) return undefined;
    return new Promise((resolve) => this.#turns.begin(this.flow(), resolve));
  }

  /** Resolves in another turn. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#turns.goOn(this.flow(), resolve, this.#order));
  }
}

let requests = 0;

function nextOrder(): number {
  requests += 1;
  return requests;
}

const present = new AsyncLocalStorage<CallerTurns>();

/** Runs a request, or a part of it, whose steps count for this caller. */
export function runFor<T>(caller: CallerTurns | undefined, work: () => T): T {
  return caller ? present.run(caller, work) : work();
}

/** The caller for whom this runs. Undefined for work of the server's own. */
export function presentCaller(): CallerTurns | undefined {
  return present.getStore();
}

/** The sender of the request that this runs for. Work of the server's own counts as a back end's. */
export function presentParty(): Party {
  return present.getStore()?.party ?? "back end";
}

/** Before a step of a request: resolves when it may run; undefined if it may at once. */
export function takeTurn(): Promise<void> | undefined {
  return present.getStore()?.take();
}

/** Long work in steps, between two of which others may have their turns. */
export type Steps<T> = Generator<void, T, void>;

/** Runs steps where none can wait, such as in a shared transaction. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Runs steps for the present caller, and lets others have their turns whenever its own is over. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const turn = takeTurn();
    if (turn) await turn;
  }
}

/** Between two steps of a request that are long. Work of the server's own yields to the event loop. */
export function nextTurnOfCaller(): Promise<unknown> {
  return present.getStore()?.next() ?? nextTurn();
}
