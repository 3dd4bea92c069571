/** How busy the connections are. */
export interface FlightLoad {
  /** Connections, and those of them that a transaction uses now. */
  readonly lanes: number;
  readonly used: number;
  /** Requests that wait for a flight. */
  readonly queued: number;
  /** Transactions since the start, and the requests that they carried. */
  readonly flown: number;
  readonly carried: number;
}
