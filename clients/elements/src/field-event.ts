import { fieldsOf } from "./frame.js";
import type { FieldEvent } from "./protocol.js";

const PLAIN = ["paired", "focus", "blur", "escape", "submit", "revealed", "hidden", "copied"] as const;

/** Reads a message of a frame: keeps the fields of the event that it names. Undefined for a message of another type. */
export function readEvent(data: unknown): FieldEvent | undefined {
  const { type, state, error, message } = fieldsOf(data);
  const plain = PLAIN.find((name) => name === type);
  if (plain) return { type: plain };
  if (type === "warning") return { type, message: String(message) };
  if (type === "failed") return { type, error: readError(error) };
  if (type !== "change") return undefined;
  const { complete, empty, valid, brand, bin, last4, error: shown } = fieldsOf(state);
  return {
    type,
    state: {
      ...{ complete: complete === true, empty: empty === true, valid: valid === true },
      ...(typeof brand === "string" ? { brand } : {}),
      ...(typeof bin === "string" ? { bin } : {}),
      ...(typeof last4 === "string" ? { last4 } : {}),
      ...(shown === undefined ? {} : { error: readError(shown) }),
    },
  };
}

function readError(error: unknown): { code: string; message: string } {
  const { code, message } = fieldsOf(error);
  return { code: String(code), message: String(message) };
}
