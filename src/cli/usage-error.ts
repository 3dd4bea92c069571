/** An invalid call. The message says what the command accepts. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
