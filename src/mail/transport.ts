import type { Sensitive } from "../crypto/sensitive.js";

/** A message to one person, in plain text and in HTML. */
export interface Message {
  /** An address as RFC 5322 writes it, without a name. */
  readonly to: string;
  readonly subject: string;
  /** May contain a sign-in link. */
  readonly text: Sensitive<string>;
  /** The same as HTML, in ASCII: a body without scripts, styles and images. */
  readonly html: Sensitive<string>;
}

/**
 * How an attempt to send ended:
 * - `sent`: the mail server is responsible for the message now
 * - `refused`: permanently refused; a retry is of no use
 * - `deferred`: not accepted this time
 * - `sender_refused`: the server refuses the sender address, until the operator changes it
 * - `not_written`: the message could not be written to its file
 * - `login_refused`: the server refuses the login
 * - `unreachable`: no server responded
 */
export type SendResult =
  | "sent"
  | "refused"
  | "deferred"
  | "sender_refused"
  | "not_written"
  | "login_refused"
  | "unreachable";

export interface MailTransport {
  /** @param signal the server is stopping: an attempt that cannot end in a moment is aborted and gives `deferred`. */
  send(message: Message, signal: AbortSignal): Promise<SendResult>;
}
