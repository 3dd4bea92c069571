import { ConfigError } from "../settings/config-error.js";

/**
 * Runs `listen` and explains a failure to the operator. `prefix` is the prefix of the address's settings.
 * @throws {ConfigError} when the address cannot be listened on.
 */
export async function listenAt<T>(
  prefix: "" | "ADMIN_",
  { host, port }: { readonly host: string; readonly port: number },
  listen: () => Promise<T>,
): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    const reason = code === "EADDRINUSE" ? "another process listens there" : code;
    throw new ConfigError(
      `Cannot listen at ${host}, port ${port}: ${reason}. Set CLOAKROOM_${prefix}HOST and CLOAKROOM_${prefix}PORT.`,
    );
  }
}
