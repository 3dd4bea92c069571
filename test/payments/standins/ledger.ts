/** One movement of money at a payment service. */
export interface Movement {
  readonly kind: "authorize" | "capture" | "void" | "refund";
  /** The id of the payment at the service. */
  readonly payment: string;
  /** What the merchant calls the payment. */
  readonly reference: string;
  /** As the service counts it. */
  readonly amount: number;
  readonly currency: string;
}

/** What really happened to money at a stand-in: what our record must agree with in the end. */
export class Ledger {
  readonly #movements: Movement[] = [];

  record(movement: Movement): void {
    this.#movements.push(movement);
  }

  of(reference: string, kind: Movement["kind"]): readonly Movement[] {
    return this.#movements.filter((movement) => movement.reference === reference && movement.kind === kind);
  }

  total(reference: string, kind: Movement["kind"]): number {
    return this.of(reference, kind).reduce((sum, { amount }) => sum + amount, 0);
  }

  get movements(): readonly Movement[] {
    return this.#movements;
  }
}
