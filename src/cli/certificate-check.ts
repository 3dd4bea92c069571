import { X509Certificate } from "node:crypto";
import { systemClock } from "../base/clock.js";
import { readTls, type TlsFiles } from "../server/certificate-files.js";
import { ConfigError } from "../settings/config-error.js";

/** Why a server cannot use the certificate of its settings, or that clients refuse it. */
export async function certificateTrouble(files: TlsFiles): Promise<string | undefined> {
  try {
    const identity = await readTls(files);
    if (!identity) return undefined;
    const end = new X509Certificate(identity.cert).validToDate;
    if (end.getTime() > systemClock.now()) return undefined;
    return `The certificate in ${files.tlsCertFile} ended at ${end.toISOString()}: renew it. A running server takes the new files by itself.`;
  } catch (error) {
    if (error instanceof ConfigError) return `${error.message} A running server still has the certificate before it.`;
    throw error;
  }
}
