/** Something failed after the destination had answered: the caller is told its status too. */
export class DestinationFailed extends Error {
  override readonly name = "DestinationFailed";
  readonly reason: unknown;
  readonly destinationStatus: number;

  constructor(reason: unknown, destinationStatus: number) {
    super("a proxied answer could not be handed on");
    this.reason = reason;
    this.destinationStatus = destinationStatus;
  }
}
