import { setTimeout as pause } from "node:timers/promises";
import { createTransport } from "nodemailer";
import type { Sensitive } from "../crypto/sensitive.js";
import type { Carried, MailCarrier } from "./carrier.js";

/** How long one attempt may take, whatever the server does: less than the message is leased for. */
const LIMIT_MS = 60_000;

/** Errors about the message or whom it is for. All others come before anything is said of either. */
const OF_MESSAGE = ["EENVELOPE", "EMESSAGE"];

/**
 * Sends over SMTP, a connection for each message. `smtps:` is TLS from the start; `smtp:` takes up STARTTLS where it is
 * offered, and with `?requireTLS=true` nothing else.
 */
export function smtpCarrier(url: Sensitive<string>, from: string): MailCarrier {
  const transport = createTransport({
    url: url.reveal(),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async carry({ to, subject, text }) {
      const stop = new AbortController();
      const sending = transport
        .sendMail({ from, to: { address: to, name: "" }, subject, text: text.reveal() })
        .then((): Carried => "sent", endOf);
      const late = pause(LIMIT_MS, undefined, { signal: stop.signal, ref: false }).then(
        (): Carried => "unreachable",
        (): Carried => "later",
      );
      const carried = await Promise.race([sending, late]);
      stop.abort();
      return carried;
    },
  };
}

/** Texts of the server are not looked at: they may quote the address. */
function endOf(error: unknown): Carried {
  const { code, responseCode, command } = readError(error);
  if (!OF_MESSAGE.includes(code)) return "unreachable";
  // Whom messages come from is the operator's to correct, so that the same message may go later.
  return responseCode >= 500 && command !== "MAIL FROM" ? "refused" : "later";
}

function readError(error: unknown): { code: string; responseCode: number; command: string } {
  const read = (name: string): unknown => (error instanceof Error ? Reflect.get(error, name) : undefined);
  return {
    code: String(read("code")),
    responseCode: Number(read("responseCode") ?? 0),
    command: String(read("command")),
  };
}
