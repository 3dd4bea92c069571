/** What a request costs beside its body: a connection, its parser and objects. */
const MIN_BYTES = 4 * 1024;

export interface ArrivingRequest {
  /** Refuses its body, and releases what it holds. */
  giveWay(): void;
}

export interface HoldingRequest {
  /** Its response is complete, and the caller has only to read it: its body is not needed any more. */
  readonly isAnswered: boolean;
  release(): void;
}

/** The network that a request comes from, as the one holder in a list. */
interface NamedHolder {
  readonly name: string;
}

interface HeldByNetwork {
  bytes: number;
  /** Oldest first. */
  readonly arriving: Set<ArrivingRequest>;
}

/**
 * Memory for small bodies of callers that have proved nothing. It is never refused to one of them while others only hold
 * it: if it is all in use, the network that holds the most gives way, with its oldest body that has not arrived. So a
 * flood displaces itself, from however many connections and networks it comes. A body that has arrived holds its place
 * until its request is answered; a caller that does not read its response (HTTP/2 without a window) keeps nothing by it.
 */
export class UnprovenMemory {
  readonly #networks = new Map<string, HeldByNetwork>();
  readonly #requests = new Set<HoldingRequest>();
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  /** Reserves at once, in the place of others if need be. False if all is in use by bodies that have arrived. */
  tryReserve(holders: readonly NamedHolder[], bytes: number): boolean {
    const counted = this.counted(bytes);
    if (this.#left < counted) this.#releaseAnswered();
    while (this.#left < counted) {
      const oldest = this.#oldestOfLargest();
      if (!oldest) return false;
      oldest.giveWay();
    }
    this.#count(holders, counted);
    return true;
  }

  /** Releases a part of a reservation, as it is counted. */
  release(holders: readonly NamedHolder[], bytes: number): void {
    this.#count(holders, -bytes);
  }

  /** What a reservation of so many bytes counts as. */
  counted(bytes: number): number {
    return Math.max(bytes, MIN_BYTES);
  }

  /** A request has a reservation from now on. */
  keeps(request: HoldingRequest): void {
    this.#requests.add(request);
  }

  /** It has none any more. */
  forgets(request: HoldingRequest): void {
    this.#requests.delete(request);
  }

  /** The body of a request begins to arrive. @returns call it once the body has arrived. */
  arrives(holders: readonly NamedHolder[], request: ArrivingRequest): () => void {
    // The caller disconnected, and the request holds nothing any more.
    const held = this.#networks.get(networkName(holders));
    held?.arriving.add(request);
    return () => {
      held?.arriving.delete(request);
    };
  }

  #releaseAnswered(): void {
    for (const request of this.#requests) if (request.isAnswered) request.release();
  }

  #oldestOfLargest(): ArrivingRequest | undefined {
    let largest: HeldByNetwork | undefined;
    for (const held of this.#networks.values()) {
      if (held.arriving.size > 0 && held.bytes > (largest?.bytes ?? 0)) largest = held;
    }
    const [oldest] = largest?.arriving ?? [];
    // Removed here, whatever it does: the search must end.
    if (oldest) largest?.arriving.delete(oldest);
    return oldest;
  }

  #count(holders: readonly NamedHolder[], bytes: number): void {
    const held = this.#heldBy(holders);
    held.bytes += bytes;
    this.#left -= bytes;
    if (held.bytes === 0) this.#networks.delete(networkName(holders));
  }

  #heldBy(holders: readonly NamedHolder[]): HeldByNetwork {
    const name = networkName(holders);
    const held = this.#networks.get(name) ?? { bytes: 0, arriving: new Set() };
    this.#networks.set(name, held);
    return held;
  }
}

function networkName(holders: readonly NamedHolder[]): string {
  return holders[0]?.name ?? "";
}
