import { truncatedMac } from "../crypto/keyed-hash.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";

/**
 * One mail serves all requests for an address in so many milliseconds: half the time for which a link works. Without
 * this, those who ask from many networks could fill a mailbox, or use up a limit of mails, and keep the member out.
 */
const SHARED_MS = 5 * 60_000;
/** The same for a known browser, whose mails others cannot ask for. */
const KNOWN_SHARED_MS = 2 * 60_000;

interface MailedTo {
  readonly email: string;
  /** A browser in which the member has signed in before. */
  readonly knownBrowser?: string | undefined;
}

/** The key under which requests at about this time share one mail. */
export function sharedMailKey({ proof }: TenantKeys, { email, knownBrowser }: MailedTo, now: Date): Buffer {
  const period = Math.floor(now.getTime() / (knownBrowser === undefined ? SHARED_MS : KNOWN_SHARED_MS));
  return truncatedMac(proof, ["cloakroom/sign-in-mail/1", email.toLowerCase(), knownBrowser ?? "", String(period)]);
}
