import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { newUuid } from "../base/ids.js";
import type { MailCarrier } from "./carrier.js";

/**
 * Without a mail server: writes each message to a file that only the operator can read, `<directory>/<id>.eml`, whole or
 * not at all.
 */
export function fileCarrier(directory: string, from: string): MailCarrier {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
  return {
    async carry({ to, subject, text }) {
      const made = await transport.sendMail({ from, to: { address: to, name: "" }, subject, text: text.reveal() });
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = join(directory, `${newUuid()}.eml`);
      await writeFile(`${file}.part`, made.message, { mode: 0o600, flag: "wx" });
      await rename(`${file}.part`, file);
      return "sent";
    },
  };
}
