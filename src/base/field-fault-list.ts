import { type Fault, invalidFields } from "./fault.js";
import { BoundedFieldFaults, type FieldFaults } from "./field-faults.js";

/** Collects faults of a request's fields. Stops the check once a response would list no more. */
export class FieldFaultList {
  readonly #faults = new BoundedFieldFaults();

  /** @throws {Fault} validation_failed with all collected faults, when no more fit into one response. */
  add(field: string, expectation: string): void {
    if (!this.#faults.add(field, expectation)) throw this.toFault();
  }

  get isEmpty(): boolean {
    return this.#faults.isEmpty;
  }

  /** @throws {Fault} validation_failed if any fault was added. */
  throwIfAny(): void {
    if (!this.#faults.isEmpty) throw this.toFault();
  }

  /** A validation_failed fault with everything collected. */
  toFault(): Fault {
    return invalidFields(this.toFields());
  }

  toFields(): FieldFaults {
    return this.#faults.toFields();
  }
}
