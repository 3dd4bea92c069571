import { Fault } from "../../src/base/fault.js";
import type { FieldFaults } from "../../src/base/field-faults.js";

/** The fields that `act` reports as invalid; fails if it reports none, or throws anything but a validation fault. */
export function faultFields(act: () => unknown): FieldFaults | undefined {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault && error.code === "validation_failed") return error.fields;
    throw error;
  }
  throw new Error("expected a fault");
}
