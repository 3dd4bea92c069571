/**
 * A process of the server did not start. The message is one line for the operator; the process has reported the cause.
 */
export class ProcessStartError extends Error {
  override readonly name = "ProcessStartError";
}
