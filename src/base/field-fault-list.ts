import { type Fault, invalidFields } from "./fault.js";
import { BoundedFieldFaults, type FieldFaults } from "./field-faults.js";

/** Collects what is wrong with the fields of a request, and stops the check once an answer would list no more. */
export class FieldFaultList {
  readonly #faults = new BoundedFieldFaults();

  /** @throws {Fault} validation_failed with all that was collected, when no more faults fit into one answer. */
  add(field: string, expectation: string): void {
    if (!this.#faults.add(field, expectation)) throw this.toFault();
  }

  get isEmpty(): boolean {
    return this.#faults.isEmpty;
  }

  /** @throws {Fault} validation_failed where anything was added. */
  throwIfAny(): void {
    if (!this.#faults.isEmpty) throw this.toFault();
  }

  /** validation_failed with all that was collected. */
  toFault(): Fault {
    return invalidFields(this.toFields());
  }

  toFields(): FieldFaults {
    return this.#faults.toFields();
  }
}
