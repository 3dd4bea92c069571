import parseAddresses from "email-addresses";
import { invalid } from "../base/fault.js";

/** Atoms with dots between them: an unquoted local part (RFC 5322, 3.2.3). */
const DOT_ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** Characters that no header may contain. RFC 5322 would allow them in quoted strings. */
const CONTROL = /\p{Cc}/u;

/**
 * Parses an address by RFC 5322 (3.4.1), including quoted local parts and address literals. Drops comments and spaces
 * around it, and refuses a display name.
 * @returns undefined for other text.
 */
export function parseEmailAddress(text: string): string | undefined {
  if (CONTROL.test(text)) return undefined;
  const parsed = parseAddresses({ input: text, startAt: "address", strict: true });
  const [address, ...others] = parsed?.addresses ?? [];
  if (address?.type !== "mailbox" || others.length > 0) return undefined;
  if (address.node?.children[0]?.name !== "addr-spec") return undefined;
  return `${showLocalPart(address.local)}@${address.domain}`;
}

/** Without quotes, in which an address can say anything. */
const PLAIN_ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,190}$/;

/** Whether an address can stand in a message to other people. */
export function isPlainAddress(address: string): boolean {
  return PLAIN_ADDRESS.test(address);
}

/** @throws {Fault} validation_failed for an invalid address. */
export function requireEmailAddress(field: string, text: string): string {
  const address = parseEmailAddress(text);
  if (address) return address;
  throw invalid(field, "must be an e-mail address as RFC 5322 writes it, without a name: ada@example.com");
}

/** Parsers drop a space before another one or before the quote unless it is escaped. */
function showLocalPart(local: string): string {
  return DOT_ATOM.test(local) ? local : `"${local.replaceAll(/["\\]| (?= |$)/g, "\\$&")}"`;
}
