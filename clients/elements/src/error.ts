import type { CallError } from "./protocol.js";

/** Why a field does not work, or a call failed. Never contains what a person typed. */
export class ElementsError extends Error {
  override readonly name = "ElementsError";
  /** `frame_refused`, `frame_sandboxed`, `incomplete`, `network`, `cancelled`, or a code of the API. */
  readonly code: string;
  readonly status: number | undefined;
  /** Problems by field of the request body. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
  readonly traceId: string | undefined;

  constructor({ code, message, status, errors, traceId }: CallError) {
    super(message);
    this.code = code;
    this.status = status;
    this.errors = errors ?? {};
    this.traceId = traceId;
  }
}
