export class IncompleteBody extends Error {
  override readonly name = "IncompleteBody";
}

export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`a body has more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}
