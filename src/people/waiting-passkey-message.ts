import { escaped } from "../base/html.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { Sensitive } from "../crypto/sensitive.js";
import { htmlMessage } from "../mail/html-message.js";
import type { Message } from "../mail/transport.js";
import { readMember, readOwner } from "../store/people/members.js";
import { readPasskeyRow } from "../store/people/passkeys.js";
import { isPlainAddress } from "../tenancy/email-address.js";
import { openProfile } from "../tenancy/profile.js";
import { openPasskey } from "./passkey.js";
import type { LinkParts } from "./sign-in-link.js";

/** The page on which the OWNER confirms passkeys. */
const MEMBERS_PATH = "/console/members";

const SUBJECT = "A member has added a passkey";

interface MessageParts extends LinkParts {
  /** Without a slash at the end. */
  readonly publicUrl: string;
}

/**
 * The message to the OWNER about a passkey that waits to be confirmed. It names the member by the address alone: a member
 * chooses all other names.
 * @returns undefined if the passkey or the OWNER's address is gone, or the passkey counts already.
 */
export async function writeWaitingPasskeyMessage(
  { tenants, publicUrl }: MessageParts,
  tenantId: TenantId,
  passkeyId: Uuid,
): Promise<Message | undefined> {
  return (await tenants.of(tenantId)).ordinary(async (tx) => {
    const [row, owner] = await Promise.all([tx.query(readPasskeyRow, passkeyId), tx.query(readOwner, "owner")]);
    const member = row && (await tx.query(readMember, row.member_id));
    if (!member || !owner) return undefined;
    const { countsFrom } = openPasskey(tx.keys, tx, row);
    if (countsFrom === undefined) return undefined;
    const to = openProfile(tx.keys, owner).email;
    if (!to) return undefined;
    const { email } = openProfile(tx.keys, member);
    const name = email !== undefined && isPlainAddress(email) ? email : "A member whose address is not shown here";
    const said = sentences(`${name} (${member.role})`, countsFrom);
    const url = `${publicUrl}${MEMBERS_PATH}`;
    return {
      to,
      subject: SUBJECT,
      text: new Sensitive(`${said.join("\n")}\n\n${url}\n`),
      html: messageHtml(said, url),
    };
  });
}

function sentences(who: string, countsFrom: Date): readonly string[] {
  return [
    `${who} has added a passkey without a second factor that counts, as new members and members after a reset do.`,
    `Until ${countsFrom.toUTCString()} it signs in, and no more. From then on it counts as a second factor.`,
    "If this person has told you of it, you can confirm it at once, under Members. If not, remove the member there.",
  ];
}

function messageHtml(said: readonly string[], url: string): Sensitive<string> {
  const paragraphs = said.map((sentence) => `<p>${escaped(sentence)}</p>`).join("\n");
  return htmlMessage(SUBJECT, `${paragraphs}\n<p><a href="${escaped(url)}">Members</a></p>`);
}
