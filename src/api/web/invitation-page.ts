import type { FastifyInstance, FastifyRequest } from "fastify";
import { parseSecret } from "../../access/secret-text.js";
import { Fault } from "../../base/fault.js";
import type { InvitationAcceptance, OpenedInvitation, OwnNames } from "../../tenancy/accept-invitation.js";
import { INVITATION_PATH } from "../../tenancy/invitation-text.js";
import type { Observe } from "../observation/observation.js";
import { requestMemory } from "../request/open-memory.js";
import { requestAudit } from "../request/request-audit.js";
import { readForm } from "../rest/body.js";
import { escaped, type PageContent, respondWithPage } from "./page.js";

const ROUTE = `${INVITATION_PATH}/:link`;
/** Longer than two names can be. */
const FORM_BYTES = 16 * 1024;
const MAX_NAME_LENGTH = 200;

const PORTAL = { config: { rateScope: "portal" } } as const;

/** Serves the page behind the link of an invitation to anyone with the link. */
export function registerInvitationPage(
  app: FastifyInstance,
  invitations: InvitationAcceptance,
  observe: Observe,
): void {
  const page = { observe, rpc: "AcceptInvitation", route: ROUTE };
  // Programs that scan mails open links: only the button changes anything.
  app.get(ROUTE, PORTAL, (request, reply) =>
    respondWithPage(page, request, reply, async () => showInvitation(await invitations.get(linkOf(request)))),
  );
  app.post(ROUTE, PORTAL, (request, reply) =>
    respondWithPage(page, request, reply, async () => {
      const link = linkOf(request);
      const invited = await invitations.get(link);
      const presented = parseSecret("inv", link);
      if (!invited || !presented) return showInvitation(undefined);
      const { tenantId, id } = presented;
      requestMemory(request.raw).prove({ kind: "address", tenantId, name: `link ${id}` });
      const names = readNames(await readForm(request.raw, FORM_BYTES));
      return showInvitation(await invitations.accept(link, names, requestAudit(request.raw).context));
    }),
  );
}

function linkOf({ params }: FastifyRequest): string {
  const link = typeof params === "object" && params !== null && "link" in params ? params.link : undefined;
  return typeof link === "string" ? link : "";
}

/** @throws {Fault} validation_failed for a name that is too long. */
function readNames(form: URLSearchParams): OwnNames {
  const firstName = readName(form, "first_name");
  const lastName = readName(form, "last_name");
  return { ...(firstName ? { firstName } : {}), ...(lastName ? { lastName } : {}) };
}

function readName(form: URLSearchParams, field: string): string | undefined {
  const name = form
    .get(field)
    ?.replaceAll(/\p{Cc}+/gu, " ")
    .trim();
  if (!name) return undefined;
  if ([...name].length <= MAX_NAME_LENGTH) return name;
  throw new Fault("validation_failed", `A name must have at most ${MAX_NAME_LENGTH} characters.`);
}

function showInvitation(opened: OpenedInvitation | undefined): PageContent {
  if (!opened) {
    const why = "This invitation is not valid: it has expired, or was withdrawn or sent again.";
    throw new Fault("not_found", `${why} Ask who invited you to send it again.`);
  }
  const tenant = `<strong>${escaped(opened.tenantName)}</strong>`;
  const email = escaped(opened.email);
  if (opened.isAccepted) {
    const signIn = `/console/sign-in?${new URLSearchParams({ tenant: opened.tenantId })}`;
    const next = `<p><a href="${escaped(signIn)}">Sign in to the console</a> with this address.</p>`;
    return { status: 200, title: "Welcome", body: `<p>You are a member of ${tenant} now, as ${email}.</p>\n${next}` };
  }
  return {
    status: 200,
    title: "Invitation",
    body: `<p>You are invited to become a member of ${tenant}, as ${email}.</p>
<form method="post">
<label for="first_name">First name (optional)</label>
<input id="first_name" name="first_name" autocomplete="given-name" maxlength="${MAX_NAME_LENGTH}">
<label for="last_name">Last name (optional)</label>
<input id="last_name" name="last_name" autocomplete="family-name" maxlength="${MAX_NAME_LENGTH}">
<button type="submit">Accept</button>
</form>`,
  };
}
