import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { newUuid } from "../base/ids.js";
import type { Sensitive } from "../crypto/sensitive.js";
import type { MailTransport } from "./transport.js";

/**
 * Without a mail server: writes each message to `<directory>/<id>.eml`, atomically and readable only by the operator.
 */
export function fileTransport(directory: string, from: string): MailTransport {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
  return {
    async send({ to, subject, text, html }) {
      const made = await transport.sendMail({
        from,
        to: { address: to, name: "" },
        subject,
        text: { raw: eightBit("text/plain", text) },
        html: { raw: eightBit("text/html", html) },
      });
      const file = join(directory, `${newUuid()}.eml`);
      const draft = `${file}.part`;
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await writeFile(draft, made.message, { mode: 0o600, flag: "wx" });
        await rename(draft, file);
        return "sent";
      } catch {
        // Otherwise every retry would take more space on a full disk.
        await rm(draft, { force: true }).catch(() => {});
        return "not_written";
      }
    },
  };
}

/**
 * A MIME part without transfer encoding. The transport would encode lines above 76 characters as quoted-printable,
 * which breaks links for a reader of the file.
 */
function eightBit(type: string, content: Sensitive<string>): string {
  return `Content-Type: ${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${content.reveal()}`;
}
