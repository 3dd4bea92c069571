/** The user pressed Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
