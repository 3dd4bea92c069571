import type { Sensitive } from "../crypto/sensitive.js";

/** A message to one person, in plain text and in HTML. */
export interface Message {
  /** An address as RFC 5322 writes it, without a name. */
  readonly to: string;
  readonly subject: string;
  /** It may hold a link that lets somebody in. */
  readonly text: Sensitive<string>;
  /** The same as HTML, in ASCII: a document's body without scripts, styles and images. */
  readonly html: Sensitive<string>;
}

/**
 * How an attempt to send ended:
 * - `sent`: somebody else is answerable for the message now
 * - `refused`: it will never be taken; trying again is of no use
 * - `later`: it was not taken this time
 * - `sender_refused`: nothing is taken from whom it comes from, until the operator names another
 * - `not_written`: it could not be put where messages are kept
 * - `login_refused`: whoever takes messages takes none from this login
 * - `unreachable`: nobody was there to take it, nor anything else
 */
export type Carried = "sent" | "refused" | "later" | "sender_refused" | "not_written" | "login_refused" | "unreachable";

/** Takes messages out of the house. */
export interface MailCarrier {
  /** @param signal the server is stopping: what cannot end in a moment is broken off, and `later`. */
  carry(message: Message, signal: AbortSignal): Promise<Carried>;
}
