import parseAddresses from "email-addresses";
import { invalid } from "../base/fault.js";

/** Atoms with dots between them: what stands before the @ without quotes (RFC 5322, 3.2.3). */
const DOT_ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** What no header may hold. Quoted texts could, by the letter of RFC 5322. */
const CONTROL = /\p{Cc}/u;

/**
 * Reads an address as RFC 5322 (3.4.1) writes it: quoted local parts and address literals included. Comments and spaces
 * around it are left out, and a name beside it is refused.
 * @returns undefined for what is no address.
 */
export function parseEmailAddress(text: string): string | undefined {
  if (CONTROL.test(text)) return undefined;
  const parsed = parseAddresses({ input: text, startAt: "address", strict: true });
  const [address, ...others] = parsed?.addresses ?? [];
  if (address?.type !== "mailbox" || others.length > 0) return undefined;
  if (address.node?.children[0]?.name !== "addr-spec") return undefined;
  return `${showLocalPart(address.local)}@${address.domain}`;
}

/** @throws {Fault} validation_failed for what is no address. */
export function requireEmailAddress(field: string, text: string): string {
  const address = parseEmailAddress(text);
  if (address) return address;
  throw invalid(field, "must be an e-mail address as RFC 5322 writes it, without a name: ada@example.com");
}

/** A blank before another one or before the quote is left out by readers unless it is escaped. */
function showLocalPart(local: string): string {
  return DOT_ATOM.test(local) ? local : `"${local.replaceAll(/["\\]| (?= |$)/g, "\\$&")}"`;
}
