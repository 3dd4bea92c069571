import { join } from "node:path";
import type { Sensitive } from "../crypto/sensitive.js";
import { fileTransport } from "./file-transport.js";
import { smtpTransport } from "./smtp-transport.js";
import type { MailTransport } from "./transport.js";

export interface MailSettings {
  /** The mail server, with its password. Absent: messages are written to files. */
  readonly smtpUrl: Sensitive<string> | undefined;
  /** Absent: no-reply at the host of the public URL. */
  readonly mailFrom: string | undefined;
  readonly publicUrl: string | undefined;
  readonly dataDir: string;
}

/** The configured mail server, or files below the data directory; `announce` tells the operator about the files. */
export function chooseTransport(config: MailSettings, announce: (line: string) => void): MailTransport {
  const from = config.mailFrom ?? `Cloakroom <no-reply@${publicHost(config.publicUrl)}>`;
  if (config.smtpUrl) return smtpTransport(config.smtpUrl, from);
  const directory = join(config.dataDir, "mail");
  announce(`No mail server is set (CLOAKROOM_SMTP_URL): messages are written to files in ${directory}`);
  return fileTransport(directory, from);
}

/** An IP address is not a domain to send from. */
function publicHost(publicUrl: string | undefined): string {
  const host = publicUrl === undefined ? "localhost" : new URL(publicUrl).hostname;
  return /^\[|^[\d.]+$/.test(host) ? "localhost" : host;
}
