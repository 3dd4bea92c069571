/** One movement of money at a payment service. */
export interface Movement {
  readonly kind: "authorize" | "capture" | "void" | "refund";
  /** The id of the payment at the service. */
  readonly payment: string;
  /** The merchant's reference for the payment. */
  readonly reference: string;
  /** In the service's units. */
  readonly amount: number;
  readonly currency: string;
}

/** The real movements of money at a stand-in, which our record must equal in the end. */
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
