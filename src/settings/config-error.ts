/** The end of a message about an address that is refused. The part before an @ may be a password. */
export function refusedAddress(address: string): string {
  return address.includes("@") ? "" : `; it is "${address}"`;
}

/** The configuration is wrong. The message is one line for the operator and says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";

  /** @param message may repeat a value, whose line breaks and control characters are shown as blanks. */
  constructor(message: string) {
    super(message.replaceAll(/\p{Cc}+/gu, " "));
  }
}
