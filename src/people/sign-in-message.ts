import { newSecret } from "../access/secret-text.js";
import { escaped } from "../base/html.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import type { Message } from "../mail/transport.js";
import { readSignInRequest, updateSignInRequest } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { openProfile } from "../tenancy/profile.js";
import { type LinkParts, linkHashesOf, memberWithAddress } from "./sign-in-link.js";
import { openDetails, sealDetails } from "./sign-in-request.js";

/** The page that sign-in links open. The link's secret follows after #, which browsers do not send. */
export const SIGN_IN_PATH = "/console/sign-in";

interface MessageParts extends LinkParts {
  /** Without a slash at the end. */
  readonly publicUrl: string;
}

/**
 * The message of a sign-in request, with a link of its own.
 * @returns undefined if no member has the address, or the request is used or over.
 */
export async function writeSignInMessage(
  { database, keyring, publicUrl }: MessageParts,
  tenantId: TenantId,
  requestId: Uuid,
): Promise<Message | undefined> {
  const keys = await keyring.of(tenantId);
  return database.ordinary.run(tenantId, "unguarded", async (tx) => {
    const [row, tenant] = await Promise.all([tx.query(readSignInRequest, requestId), tx.query(readTenant, tenantId)]);
    if (!row || !tenant) return undefined;
    const details = openDetails(keys, tenantId, row);
    const { email } = details;
    const member = typeof email === "string" ? await memberWithAddress(tx, keys, email) : null;
    // As the member has it: who asks may write it in another case, which can be another mailbox (RFC 5321, 2.4).
    const to = member && openProfile(keys, tenantId, member.id, member.profile).email;
    if (!to) return undefined;
    const link = newSecret("lnk", tenantId, requestId);
    const hashes = [...linkHashesOf(details), link.hash.toString("hex")];
    const resealed = sealDetails(keys, tenantId, row, { ...details, hashes });
    if (!(await tx.query(updateSignInRequest, { id: requestId, details: resealed }))) return undefined;
    // A tenant chooses its name freely, so keep the name on one line.
    const name = tenant.name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
    const asked = `${new Date(row.expires_at.getTime()).toUTCString()}. It was asked for from ${details.address} with ${details.client}`;
    const url = `${publicUrl}${SIGN_IN_PATH}#${link.text.reveal()}`;
    return {
      to,
      subject: `Sign in to ${name}`,
      text: new Sensitive(textOf(name, url, asked)),
      html: new Sensitive(htmlOf(name, url, asked)),
    };
  });
}

function textOf(tenantName: string, url: string, asked: string): string {
  return `To sign in to ${tenantName} in Cloakroom, open this address in the browser where you asked for it:

${url}

It works once, until ${asked}.
If that was not you, there is nothing that you need to do: the link does not work in another browser.
`;
}

function htmlOf(tenantName: string, url: string, asked: string): string {
  const link = escaped(url);
  const html = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in</title></head><body>
<p>To sign in to <strong>${escaped(tenantName)}</strong> in Cloakroom, open this address in the browser where you asked for it:</p>
<p><a href="${link}">Sign in</a></p>
<p>${link}</p>
<p>It works once, until ${escaped(asked)}.<br>
If that was not you, there is nothing that you need to do: the link does not work in another browser.</p>
</body></html>
`;
  return html.replaceAll(/\P{ASCII}/gu, (char) => `&#${char.codePointAt(0)};`);
}
