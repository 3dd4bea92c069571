import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Config } from "../settings/config.js";
import { ConfigError } from "../settings/config-error.js";

/** The certificate and key of a TLS server, in PEM. */
export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * Reads the certificate and key, if configured.
 * @throws {ConfigError} if a file cannot be read or is invalid, or the two do not match.
 */
export async function readTls({ tlsCertFile, tlsKeyFile }: Config): Promise<TlsIdentity | undefined> {
  if (!tlsCertFile || !tlsKeyFile) return undefined;
  const read = (name: string, path: string) =>
    readFile(path).catch(() => {
      throw new ConfigError(`CLOAKROOM_${name} names a file that cannot be read: ${path}`);
    });
  const cert = await read("TLS_CERT_FILE", tlsCertFile);
  const key = await read("TLS_KEY_FILE", tlsKeyFile);
  try {
    createSecureContext({ cert, key });
  } catch {
    throw new ConfigError(
      "CLOAKROOM_TLS_CERT_FILE and CLOAKROOM_TLS_KEY_FILE must name a certificate and the key that belongs to it, in PEM.",
    );
  }
  return { cert, key };
}

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
