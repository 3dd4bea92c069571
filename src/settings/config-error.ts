/** The configuration is wrong. The message is one line for the operator and says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";

  /** @param message may repeat a value, whose line breaks and control characters are shown as blanks. */
  constructor(message: string) {
    super(message.replaceAll(/\p{Cc}+/gu, " "));
  }
}
