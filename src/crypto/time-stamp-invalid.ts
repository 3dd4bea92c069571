/** A time stamp that is not valid. The message says why, in fixed words. */
export class TimeStampInvalid extends Error {
  override readonly name = "TimeStampInvalid";
}
