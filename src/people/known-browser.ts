import { randomText } from "../access/secret-text.js";
import { compactUuid, expandUuid } from "../base/compact-uuid.js";
import { macEquals, truncatedMac } from "../crypto/keyed-hash.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { emailTerm } from "../tenancy/profile.js";

/** How long a browser is known after a sign-in. */
export const KNOWN_SECONDS = 180 * 24 * 60 * 60;

const FORM = /^kbr_([0-9A-Za-z]{22})_([0-9A-Za-z]{43})_([0-9a-f]{32})_([0-9a-f]{32})$/;

/**
 * The cookie of a browser in which a member has signed in: `kbr_<tenant>_<browser>_<address>_<mac>`. It proves nothing
 * about who uses the browser, and gives one thing: requests to sign in with this address that others cannot use up.
 */
export function newKnownBrowser(keys: TenantKeys, email: string): Sensitive<string> {
  const [browser, address] = [randomText(), emailTerm(keys, email).toString("hex")];
  const mac = macOf(keys, browser, address).toString("hex");
  return new Sensitive(`kbr_${compactUuid(keys.tenantId)}_${browser}_${address}_${mac}`);
}

/**
 * The id of a browser in which a member of a tenant has signed in; undefined for every other cookie.
 * @param email the address of that member; undefined: of any member.
 */
export function readKnownBrowser(keys: TenantKeys, cookie: string | undefined, email?: string): string | undefined {
  const [, tenant = "", browser = "", address = "", mac = ""] = FORM.exec(cookie ?? "") ?? [];
  if (expandUuid(tenant) !== keys.tenantId) return undefined;
  if (!macEquals(macOf(keys, browser, address), Buffer.from(mac, "hex"))) return undefined;
  if (email !== undefined && emailTerm(keys, email).toString("hex") !== address) return undefined;
  return browser;
}

function macOf({ proof, tenantId }: TenantKeys, browser: string, address: string): Buffer {
  return truncatedMac(proof, ["cloakroom/known-browser/1", tenantId, browser, address]);
}
