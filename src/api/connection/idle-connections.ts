/** How many connections may wait for their client. Each costs about 40 KB. */
export interface IdleLimits {
  /** For one address, among connections without a valid credential. */
  readonly ofAddress: number;
  /**
   * Milliseconds that a connection waits before it can be closed for its address: the first request of one that was just
   * opened is on its way, and programs open hundreds at once.
   */
  readonly settledMs: number;
  /** For all addresses together, among connections without a valid credential. */
  readonly unproven: number;
  /** For all addresses together, among connections that have sent a valid credential. */
  readonly proven: number;
}

export interface OpenExchange {
  /** Whether the server has written the whole response. The client may not have read it. */
  readonly writableEnded: boolean;
}

export interface Peer {
  readonly address: string;
  readonly network: string;
}

/**
 * Connections that wait for their client: for a request, or for the client to read what the server has written. Above the
 * limit of an address its oldest one is closed, and above the limit of all the oldest one of the network that has the
 * most. So clients that open many connections lose their own. A connection that the server works for is never closed, and
 * connections with a valid credential are counted apart.
 */
export class IdleConnections {
  readonly #limits: IdleLimits;
  readonly #now: () => number;
  readonly #unproven = new IdleGroup();
  readonly #proven = new IdleGroup();
  readonly #busy = new Set<TrackedConnection>();

  /** @param now milliseconds, never decreasing. */
  constructor(limits: IdleLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get count(): number {
    return this.#unproven.count + this.#proven.count;
  }

  /** A connection is opened. @param close closes it while it is idle; `hasUnread`: responses wait to be read. */
  open(peer: Peer, close: (hasUnread: boolean) => void): TrackedConnection {
    const connection = new TrackedConnection(peer, close, (changed) => this.#sort(changed));
    this.#sort(connection);
    return connection;
  }

  /**
   * Counts connections as idle whose responses are all written and not read. To be called every few seconds: no event tells
   * that a response is written before its client has read it, and over HTTP/2 a client can leave 128 of them unread.
   */
  findUnread(): void {
    for (const connection of this.#busy) if (connection.isIdle) this.#sort(connection);
  }

  #sort(connection: TrackedConnection): void {
    this.#unproven.remove(connection);
    this.#proven.remove(connection);
    this.#busy.delete(connection);
    if (!connection.isOpen) return;
    if (!connection.isIdle) {
      this.#busy.add(connection);
      return;
    }
    const { ofAddress, settledMs, unproven, proven } = this.#limits;
    if (connection.isProven) {
      this.#proven.add(connection);
      if (this.#proven.count > proven) this.#proven.closeOfLargest();
      return;
    }
    const now = this.#now();
    connection.idleSince = now;
    this.#unproven.add(connection);
    this.#unproven.closeSettledOf(connection.peer, ofAddress, now - settledMs);
    if (this.#unproven.count > unproven) this.#unproven.closeOfLargest();
  }
}

export class TrackedConnection {
  readonly peer: Peer;
  readonly #close: (hasUnread: boolean) => void;
  readonly #changed: (connection: TrackedConnection) => void;
  readonly #exchanges = new Set<OpenExchange>();
  #isProven = false;
  #isOpen = true;
  /** When it began to wait for its client. */
  idleSince = 0;

  constructor(peer: Peer, close: (hasUnread: boolean) => void, changed: (connection: TrackedConnection) => void) {
    this.peer = peer;
    this.#close = close;
    this.#changed = changed;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether the server has nothing to do for it. */
  get isIdle(): boolean {
    if (!this.#isOpen) return false;
    for (const exchange of this.#exchanges) if (!exchange.writableEnded) return false;
    return true;
  }

  get isProven(): boolean {
    return this.#isProven;
  }

  begin(exchange: OpenExchange): void {
    this.#exchanges.add(exchange);
    this.#changed(this);
  }

  /** The client has read the response, or the exchange was aborted. */
  finish(exchange: OpenExchange): void {
    this.#exchanges.delete(exchange);
    if (this.#exchanges.size === 0) this.#changed(this);
  }

  /** A request on it had a valid credential. */
  prove(): void {
    if (this.#isProven) return;
    this.#isProven = true;
    this.#changed(this);
  }

  /** It is closed. */
  end(): void {
    this.#isOpen = false;
    this.#changed(this);
  }

  close(): void {
    this.end();
    this.#close(this.#exchanges.size > 0);
  }
}

/** Idle connections by network and address, those that became idle first coming first. */
class IdleGroup {
  readonly #byNetwork = new Map<string, Set<TrackedConnection>>();
  readonly #byAddress = new Map<string, Set<TrackedConnection>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(connection: TrackedConnection): void {
    addTo(this.#byNetwork, connection.peer.network, connection);
    addTo(this.#byAddress, connection.peer.address, connection);
    this.#count += 1;
  }

  remove(connection: TrackedConnection): void {
    if (!removeFrom(this.#byNetwork, connection.peer.network, connection)) return;
    removeFrom(this.#byAddress, connection.peer.address, connection);
    this.#count -= 1;
  }

  /** Closes the oldest connections of an address above the limit, if they have waited since `before`. */
  closeSettledOf({ address }: Peer, limit: number, before: number): void {
    const ofAddress = this.#byAddress.get(address) ?? new Set();
    for (const oldest of ofAddress) {
      if (ofAddress.size <= limit || oldest.idleSince > before) return;
      oldest.close();
    }
  }

  closeOfLargest(): void {
    let largest: ReadonlySet<TrackedConnection> = new Set();
    for (const connections of this.#byNetwork.values()) if (connections.size > largest.size) largest = connections;
    const [oldest] = largest;
    oldest?.close();
  }
}

function addTo(groups: Map<string, Set<TrackedConnection>>, name: string, connection: TrackedConnection): void {
  const group = groups.get(name);
  if (group) group.add(connection);
  else groups.set(name, new Set([connection]));
}

function removeFrom(groups: Map<string, Set<TrackedConnection>>, name: string, connection: TrackedConnection): boolean {
  const group = groups.get(name);
  if (!group?.delete(connection)) return false;
  if (group.size === 0) groups.delete(name);
  return true;
}
