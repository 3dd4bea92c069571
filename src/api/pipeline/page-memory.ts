import type { RequestMemory, Reservation } from "../../memory/request-memory.js";
import type { ReadMemory } from "../../store/transactions/large-reads.js";

/** The memory for large values of one page of a stream: it is released once its caller has taken the page. */
export class PageMemory implements ReadMemory {
  readonly #memory: RequestMemory;
  #reserved: Reservation[] = [];

  constructor(memory: RequestMemory) {
    this.#memory = memory;
  }

  reserveReadNow(storedBytes: number): Reservation | undefined {
    const reservation = this.#memory.reserveReadNow(storedBytes);
    if (reservation) this.#reserved.push(reservation);
    return reservation;
  }

  async reserveRead(storedBytes: number): Promise<Reservation> {
    const reservation = await this.#memory.reserveRead(storedBytes);
    this.#reserved.push(reservation);
    return reservation;
  }

  release(): void {
    for (const reservation of this.#reserved) reservation.shrink(0);
    this.#reserved = [];
  }
}
