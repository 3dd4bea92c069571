import { createTransport } from "nodemailer";
import type { Sensitive } from "../crypto/sensitive.js";
import type { MailTransport, SendResult } from "./transport.js";

/** Time limit of one attempt: less than the lease of the message. */
const LIMIT_MS = 60_000;
/** Time limit once the server is stopping: a message that was accepted but not acknowledged yet would be sent twice. */
const LAST_WORDS_MS = 3_000;

/** Errors about the message or its recipient. All others precede both. */
const OF_MESSAGE = ["EENVELOPE", "EMESSAGE"];

/**
 * Sends over SMTP, with one connection per message. `smtps:` is TLS from the start; `smtp:` uses STARTTLS if it is
 * offered, and requires it with `?requireTLS=true`.
 */
export function smtpTransport(url: Sensitive<string>, from: string): MailTransport {
  const transport = createTransport({
    url: url.reveal(),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    // Otherwise a server that does not close its side would keep this process from ending.
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text, html }, stopping) {
      const cut = new AbortController();
      const cutIn = (milliseconds: number) => setTimeout(() => cut.abort(), milliseconds).unref();
      const timers = [cutIn(LIMIT_MS)];
      const hurry = () => timers.push(cutIn(LAST_WORDS_MS));
      if (stopping.aborted) hurry();
      stopping.addEventListener("abort", hurry, { once: true });
      try {
        const addressed = { from, to: { address: to, name: "" }, subject };
        const bodies = { text: text.reveal(), html: html.reveal() };
        // Quoted-printable would cut links at 76 characters, which some programs do not join again.
        const mail = { ...addressed, ...bodies, textEncoding: "base64" as const, signal: cut.signal };
        return await transport.sendMail(mail).then(
          (): SendResult => "sent",
          (error: unknown) => (stopping.aborted && cut.signal.aborted ? "deferred" : sendResult(error)),
        );
      } finally {
        stopping.removeEventListener("abort", hurry);
        for (const timer of timers) clearTimeout(timer);
      }
    },
  };
}

/** Ignores the server's texts: they may quote the address. */
function sendResult(error: unknown): SendResult {
  const { code, responseCode, command } = readError(error);
  if (code === "EAUTH") return "login_refused";
  if (!OF_MESSAGE.includes(code)) return "unreachable";
  if (responseCode < 500) return "deferred";
  // The operator can correct the sender, after which the same message may go.
  return command === "MAIL FROM" ? "sender_refused" : "refused";
}

function readError(error: unknown): { code: string; responseCode: number; command: string } {
  const read = (name: string): unknown => (error instanceof Error ? Reflect.get(error, name) : undefined);
  return {
    code: String(read("code")),
    responseCode: Number(read("responseCode") ?? 0),
    command: String(read("command")),
  };
}
