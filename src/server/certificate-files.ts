import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { ServerCertificate, TlsIdentity } from "../api/connection/server-certificate.js";
import { causeFields } from "../api/observation/log-cause.js";
import type { OperatorLog } from "../api/observation/operator-log.js";
import type { Config } from "../settings/config.js";
import { ConfigError } from "../settings/config-error.js";

export type TlsFiles = Pick<Config, "tlsCertFile" | "tlsKeyFile">;

/**
 * Interval of looks at the files, in milliseconds. The kernel's notifications miss changes in a network file system, and
 * in a volume of Kubernetes, which renames a link two folders above.
 */
const LOOK_MS = 2_000;

/** The certificate of the API port. Its files are read again when they change. */
export class CertificateFiles implements ServerCertificate, Disposable {
  readonly #files: TlsFiles;
  readonly #log: OperatorLog;
  readonly #takers: ((identity: TlsIdentity) => void)[] = [];
  #current: TlsIdentity;
  #renewal = Promise.resolve();

  private constructor(files: TlsFiles, current: TlsIdentity, log: OperatorLog) {
    this.#files = files;
    this.#current = current;
    this.#log = log;
  }

  /** @returns undefined without TLS. @throws {ConfigError} as {@link readTls} does. */
  static async open(files: TlsFiles, log: OperatorLog): Promise<CertificateFiles | undefined> {
    const identity = await readTls(files);
    if (!identity) return undefined;
    const certificate = new CertificateFiles(files, identity, log);
    certificate.#eachFile((path) => watchFile(path, { interval: LOOK_MS, persistent: false }, certificate.renew));
    return certificate;
  }

  get current(): TlsIdentity {
    return this.#current;
  }

  onRenewal(take: (identity: TlsIdentity) => void): void {
    this.#takers.push(take);
  }

  /** Reads the files, one renewal after the other: the last one sees both as they are in the end. */
  readonly renew = (): Promise<void> => {
    this.#renewal = this.#renewal.then(() => this.#readAgain());
    return this.#renewal;
  };

  [Symbol.dispose](): void {
    this.#eachFile((path) => unwatchFile(path, this.renew));
  }

  #eachFile(run: (path: string) => void): void {
    for (const path of [this.#files.tlsCertFile, this.#files.tlsKeyFile]) if (path !== undefined) run(path);
  }

  async #readAgain(): Promise<void> {
    try {
      const identity = await readTls(this.#files);
      if (!identity || isSame(identity, this.#current)) return;
      this.#current = identity;
      for (const take of this.#takers) take(identity);
      this.#log.info({}, "the certificate of the API port was renewed");
    } catch (error) {
      // A message of ours names the setting and the file.
      const cause = error instanceof ConfigError ? { reason: error.message } : causeFields(error);
      this.#log.warn(cause, "the new certificate of the API port cannot be used: the one before it is still served");
    }
  }
}

/** @throws {ConfigError} if a file cannot be read or is invalid, or the two do not match. */
export async function readTls({ tlsCertFile, tlsKeyFile }: TlsFiles): Promise<TlsIdentity | undefined> {
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

function isSame(one: TlsIdentity, other: TlsIdentity): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key);
}
