/** The configuration is wrong. The message is one line for the operator and says what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
