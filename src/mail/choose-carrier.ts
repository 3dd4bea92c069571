import { join } from "node:path";
import type { Sensitive } from "../crypto/sensitive.js";
import type { MailCarrier } from "./carrier.js";
import { fileCarrier } from "./file-carrier.js";
import { smtpCarrier } from "./smtp-carrier.js";

/** The settings that decide how messages leave. */
export interface MailSettings {
  /** The mail server, with its password. Absent: messages are written to files. */
  readonly smtpUrl: Sensitive<string> | undefined;
  /** Absent: no-reply at the host of the public URL. */
  readonly mailFrom: string | undefined;
  readonly publicUrl: string | undefined;
  readonly dataDir: string;
}

/** The configured mail server, or files below the data directory; `announce` tells the operator about the files. */
export function chooseCarrier(config: MailSettings, announce: (line: string) => void): MailCarrier {
  const from = config.mailFrom ?? `Cloakroom <no-reply@${hostOf(config.publicUrl)}>`;
  if (config.smtpUrl) return smtpCarrier(config.smtpUrl, from);
  const directory = join(config.dataDir, "mail");
  announce(`No mail server is set (CLOAKROOM_SMTP_URL): messages are written to files in ${directory}`);
  return fileCarrier(directory, from);
}

/** An IP address is not a domain to send from. */
function hostOf(publicUrl: string | undefined): string {
  const host = publicUrl === undefined ? "localhost" : new URL(publicUrl).hostname;
  return /^\[|^[\d.]+$/.test(host) ? "localhost" : host;
}
