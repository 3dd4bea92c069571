import type { FastifyInstance } from "fastify";
import { Fault } from "../../base/fault.js";
import { OPENID_PATH, type OpenIdSignIn } from "../../people/openid-sign-in.js";
import { SIGN_IN_SECONDS } from "../../people/sign-in.js";
import { SIGN_IN_PATH } from "../../people/sign-in-message.js";
import { REQUEST_SECONDS } from "../../people/sign-in-request.js";
import { isPrefetch } from "../browser/fetch-metadata.js";
import type { Visits } from "../browser/visits.js";
import type { Observe } from "../observation/observation.js";
import { queryIn } from "../request/query.js";
import { respondWithPage } from "./page.js";

const CONSOLE_PATH = "/console";

interface OpenIdPageParts {
  readonly openId: OpenIdSignIn | undefined;
  readonly visits: Visits;
}

/**
 * Serves the address to which an issuer sends browsers back. A redirect from there would count as cross-site, without the
 * Strict cookie that was just set; a page that opens the console is a new navigation of our own.
 */
export function registerOpenIdPage(app: FastifyInstance, { openId, visits }: OpenIdPageParts, observe: Observe): void {
  if (!openId) return;
  const page = { observe, rpc: "EndOpenIdSignIn", route: OPENID_PATH };
  app.route({
    method: "GET",
    url: OPENID_PATH,
    exposeHeadRoute: false,
    config: { rateScope: "portal" },
    handler: (request, reply) =>
      respondWithPage(page, request, reply, async () => {
        if (isPrefetch(request.headers)) throw new Fault("permission_denied", "Open this page itself to sign in.");
        const step = await openId.end(queryIn(request.raw.url), visits.of(request.raw));
        if (step.kind === "passkey_awaited") {
          const cookie = visits.setCookie({ name: "passkey", value: step.token, maxAge: REQUEST_SECONDS });
          const body = `<p><a href="${SIGN_IN_PATH}">Continue with your passkey</a></p>`;
          return { status: 200, title: "Your passkey is needed", body, next: SIGN_IN_PATH, cookie };
        }
        const cookie = visits.setCookie({ name: "sign_in", value: step.token, maxAge: SIGN_IN_SECONDS });
        const body = `<p><a href="${CONSOLE_PATH}">Continue</a></p>`;
        return { status: 200, title: "You are signed in", body, next: CONSOLE_PATH, cookie };
      }),
  });
}
