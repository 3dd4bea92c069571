import { escaped } from "../base/html.js";
import { Sensitive } from "../crypto/sensitive.js";
import { htmlMessage } from "../mail/html-message.js";
import type { Message } from "../mail/transport.js";
import type { LinkedInvitation } from "../store/people/invitation-links.js";
import { isPlainAddress } from "./email-address.js";
import { quotedName } from "./quoted-name.js";

/** The last part of a link's path is its secret. */
export const INVITATION_PATH = "/invitations";

interface InvitationParts {
  readonly invitation: Pick<LinkedInvitation, "role" | "expires_at">;
  /** The tenant's name, as the tenant chose it. */
  readonly name: string;
  /** The address of the member who invites; undefined: an application does. */
  readonly sender: string | undefined;
  /** Where people reach the vault. */
  readonly host: string;
  readonly url: string;
}

/** The message of an invitation. Only the quoted name and the sender's address are of the tenant's choice. */
export function invitationText(parts: InvitationParts): Omit<Message, "to"> {
  const { invitation, name, sender, host, url } = parts;
  const by = sender !== undefined && isPlainAddress(sender) ? sender : "An administrator";
  const what = `${by} invites you to become a member (${invitation.role}) of ${quotedName(name)} in the Cloakroom vault at ${host}.`;
  const until = invitation.expires_at.toUTCString();
  return {
    subject: `Invitation to Cloakroom at ${host}`,
    text: new Sensitive(mailText(what, url, until)),
    html: invitationHtml(what, url, until),
  };
}

function mailText(what: string, url: string, until: string): string {
  return `${what}

To accept, open this address:

${url}

It works until ${until}. Anyone who has it can accept, so keep it to yourself.
If you did not expect this invitation, there is nothing that you need to do.
`;
}

function invitationHtml(what: string, url: string, until: string): Sensitive<string> {
  const link = escaped(url);
  return htmlMessage(
    "Invitation",
    `<p>${escaped(what)}</p>
<p><a href="${link}">Accept the invitation</a></p>
<p>Or open this address:<br>${link}</p>
<p>It works until ${until}. Anyone who has it can accept, so keep it to yourself.<br>
If you did not expect this invitation, there is nothing that you need to do.</p>`,
  );
}
