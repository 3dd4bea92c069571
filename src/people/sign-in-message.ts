import { newSecret } from "../access/secret-text.js";
import { escaped } from "../base/html.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import { htmlMessage } from "../mail/html-message.js";
import type { Message } from "../mail/transport.js";
import { readSignInRequest, updateSignInRequest } from "../store/people/sign-in-requests.js";
import { readTenant } from "../store/tenancy/tenants.js";
import { openProfile } from "../tenancy/profile.js";
import { quotedName } from "../tenancy/quoted-name.js";
import { type LinkParts, memberWithAddress, readLinkHashes } from "./sign-in-link.js";
import { openDetails, signInRequestRecord } from "./sign-in-request.js";

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
  { tenants, publicUrl }: MessageParts,
  tenantId: TenantId,
  requestId: Uuid,
): Promise<Message | undefined> {
  return (await tenants.of(tenantId)).ordinary(async (tx) => {
    const [row, tenant] = await Promise.all([tx.query(readSignInRequest, requestId), tx.query(readTenant, tenantId)]);
    if (!row || !tenant) return undefined;
    const details = openDetails(tx.keys, row);
    const { email } = details;
    const member = typeof email === "string" ? await memberWithAddress(tx, email) : null;
    // As the member has it: who asks may write it in another case, which can be another mailbox (RFC 5321, 2.4).
    const to = member && openProfile(tx.keys, member).email;
    if (!to) return undefined;
    const link = newSecret("lnk", tenantId, requestId);
    const hashes = [...readLinkHashes(details), link.hash.toString("hex")];
    const resealed = signInRequestRecord.seal(tx.keys, row, { ...details, hashes });
    if (!(await tx.query(updateSignInRequest, { id: requestId, details: resealed }))) return undefined;
    const vault = `${quotedName(tenant.name)} in the Cloakroom vault at ${new URL(publicUrl).host}`;
    const asked = `${new Date(row.expires_at.getTime()).toUTCString()}. It was asked for first from ${details.address} with ${details.client}`;
    const url = `${publicUrl}${SIGN_IN_PATH}#${link.text.reveal()}`;
    return {
      to,
      subject: `Sign in to Cloakroom at ${new URL(publicUrl).host}`,
      text: new Sensitive(mailText(vault, url, asked)),
      html: mailHtml(vault, url, asked),
    };
  });
}

function mailText(vault: string, url: string, asked: string): string {
  return `To sign in to ${vault}, open this address in the browser where you asked for it:

${url}

It works once, until ${asked}.
If that was not you, there is nothing that you need to do: the link works only in a browser that asked for one to your address.
`;
}

function mailHtml(vault: string, url: string, asked: string): Sensitive<string> {
  const link = escaped(url);
  return htmlMessage(
    "Sign in",
    `<p>To sign in to ${escaped(vault)}, open this address in the browser where you asked for it:</p>
<p><a href="${link}">Sign in</a></p>
<p>${link}</p>
<p>It works once, until ${escaped(asked)}.<br>
If that was not you, there is nothing that you need to do: the link works only in a browser that asked for one to your address.</p>`,
  );
}
