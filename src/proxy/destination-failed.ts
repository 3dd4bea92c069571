/** An error after the destination had responded: the caller also gets the destination's status. */
export class DestinationFailed extends Error {
  override readonly name = "DestinationFailed";
  readonly reason: unknown;
  readonly destinationStatus: number;

  constructor(reason: unknown, destinationStatus: number) {
    super("the destination's response could not be returned");
    this.reason = reason;
    this.destinationStatus = destinationStatus;
  }
}
