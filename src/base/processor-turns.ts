import { FairQueue } from "./fair-queue.js";

/** Milliseconds of the main thread after which a caller with more to do lets others have a turn. */
export const TURN_MS = 0.5;

/**
 * Milliseconds of the main thread for which callers are served before the sockets are looked at again: what a newcomer
 * waits until its request is seen. A look costs some 20 us.
 */
export const LOOK_MS = 0.5;

/** Milliseconds of the main thread by which a caller is ahead that has used less than its share. */
const CREDIT_MS = 10;

/** Turns between two looks at the sockets, where they are short. */
const TURNS_AT_ONCE = 8;

/** The caller for which the main thread works: a tenant whose key was proved, or a network that has proved nothing. */
export interface Flow {
  readonly kind: "tenant" | "network";
  readonly name: string;
}

/** When steps run: the event loop, or that of a test. */
export interface Loop {
  /** Milliseconds, never decreasing. */
  now(): number;
  /** Runs a step after the sockets were looked at, and after what earlier such steps resolved. */
  soon(step: () => void): void;
}

const eventLoop: Loop = { now: () => performance.now(), soon: (step) => void setImmediate(step) };

interface Waiting {
  readonly flow: Flow;
  readonly work: () => void;
}

/** All networks together have the share of one tenant. */
const NETWORKS = "networks";

/**
 * Shares the main thread among callers. While there is room, work runs where it arrives. Once the thread has worked for
 * {@link LOOK_MS} without a look at its sockets, callers wait for turns, which {@link FairQueue} gives by measured time.
 * A turn lasts until its work waits for anything, so each is measured alone.
 */
export class ProcessorTurns {
  readonly #loop: Loop;
  readonly #callers = new FairQueue<Waiting>(CREDIT_MS);
  /** Each has an entry in {@link #callers} too, whose place it takes there. */
  readonly #networks = new FairQueue<Waiting>(CREDIT_MS);
  /** The start of the first work since the sockets were looked at. */
  #busySince: number | undefined;
  #turn: { readonly flow: Flow; readonly since: number } | undefined;
  #isScheduled = false;
  #isGiving = false;
  #afterwards: (() => void)[] = [];

  constructor(loop: Loop = eventLoop) {
    this.#loop = loop;
  }

  get waiting(): number {
    return this.#callers.size;
  }

  /** Callers that wait for a turn. All networks are one. */
  get waitingCallers(): number {
    return this.#callers.flows;
  }

  waitingOf({ kind, name }: Flow): number {
    return kind === "tenant" ? this.#callers.waitingOf(tenantName(name)) : this.#networks.waitingOf(name);
  }

  /**
   * Whether work may run now; otherwise it has to wait ({@link begin}, {@link goOn}).
   * @param flow of the caller; only called if others might come first.
   */
  hasRoom(flow: () => Flow): boolean {
    const now = this.#loop.now();
    if (this.#turn) return now - this.#turn.since < TURN_MS && isSame(this.#turn.flow, flow());
    if (this.#callers.size > 0) return false;
    if (this.#busySince === undefined) {
      this.#busySince = now;
      this.#loop.soon(this.#lookAtSockets);
    }
    return now - this.#busySince < LOOK_MS;
  }

  /**
   * Runs the first step of a request in a turn of its caller, once nothing else of the caller's waits: a caller with
   * many requests has few of them in progress, and in memory.
   */
  begin(flow: Flow, work: () => void): void {
    this.#wait({ flow, work });
  }

  /**
   * Runs a further step of a request in another turn of its caller.
   * @param order of the request among those of its caller. All steps of the first come before those of the next: what
   * many large requests hold at once outlives the engine's short collections, and only one of all memory frees it.
   */
  goOn(flow: Flow, work: () => void, order: number): void {
    this.#wait({ flow, work }, order);
  }

  /**
   * Runs a step of the server's own after the turn that has just ended, or before the next look at the sockets: what a
   * caller asks of the database is sent before others have their turns.
   */
  afterwards(step: () => void): void {
    if (this.#isGiving) this.#afterwards.push(step);
    else this.#loop.soon(step);
  }

  readonly #lookAtSockets = (): void => {
    this.#busySince = undefined;
  };

  #wait(waiting: Waiting, order?: number): void {
    const { kind, name } = waiting.flow;
    if (kind === "network") this.#networks.push(name, waiting, order);
    this.#callers.push(kind === "tenant" ? tenantName(name) : NETWORKS, waiting, order);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    let since: number | undefined;
    const giveTurn = () => {
      this.#isGiving = true;
      since ??= this.#loop.now();
      const now = this.#endTurn();
      if (now - since < LOOK_MS) this.#giveTurn(now);
    };
    for (let turn = 0; turn < TURNS_AT_ONCE; turn += 1) this.#loop.soon(giveTurn);
    this.#loop.soon(() => {
      this.#endTurn();
      this.#isScheduled = false;
      this.#isGiving = false;
      if (this.#callers.size > 0) this.#schedule();
    });
  }

  #giveTurn(now: number): void {
    const next = this.#callers.take();
    if (!next) return;
    const { flow, work } = (next.flow === NETWORKS ? this.#networks.take()?.item : undefined) ?? next.item;
    this.#turn = { flow, since: now };
    work();
  }

  /** Charges the turn that has just ended, whose work waits for something else now. */
  #endTurn(): number {
    const now = this.#loop.now();
    if (this.#turn) {
      const { flow, since } = this.#turn;
      this.#turn = undefined;
      this.#charge(flow, now - since);
    }
    if (this.#afterwards.length === 0) return now;
    for (const step of this.#afterwards.splice(0)) step();
    return this.#loop.now();
  }

  #charge({ kind, name }: Flow, cost: number): void {
    this.#callers.charge(kind === "tenant" ? tenantName(name) : NETWORKS, cost);
    if (kind === "network") this.#networks.charge(name, cost);
  }
}

function tenantName(name: string): string {
  return `tenant ${name}`;
}

function isSame(one: Flow, other: Flow): boolean {
  return one.name === other.name && one.kind === other.kind;
}
