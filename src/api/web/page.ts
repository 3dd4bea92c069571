import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Fault } from "../../base/fault.js";
import { escaped } from "../../base/html.js";
import { requirePageLoad } from "../browser/fetch-metadata.js";
import { OWN_PAGE_HEADERS } from "../browser/security-headers.js";
import { FAULT_TABLE } from "../faults/fault-table.js";
import { type Observe, toFault } from "../observation/observation.js";
import { readTrace } from "../observation/trace.js";

export { escaped } from "../../base/html.js";

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a}
label{display:block;margin:1rem 0 .25rem}
input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}
button{font:inherit;margin-top:1.5rem;padding:.5rem 1.5rem}`;

/**
 * The page runs no script, loads nothing, and sends its form only to this server. Its address is a secret: no referrer,
 * no cache.
 */
const PAGE_HEADERS = {
  ...OWN_PAGE_HEADERS,
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
};

export interface PageContent {
  readonly status: number;
  readonly title: string;
  readonly body: string;
  /** The path that the browser opens next. */
  readonly next?: string;
  readonly cookie?: string;
}

export interface PageRoute {
  readonly observe: Observe;
  readonly rpc: string;
  readonly route: string;
}

export async function respondWithPage(
  { observe, rpc, route }: PageRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<PageContent>,
): Promise<FastifyReply> {
  const observation = observe({ rpc, route, ...readTrace(request.raw) });
  const shown = await pageFor(request, work).catch((error: unknown) => {
    const fault = toFault(error);
    const { http: status } = FAULT_TABLE[fault.code];
    observation.fail(status, fault);
    return showFault(status, fault);
  });
  if (shown.status < 400) observation.end(shown.status);
  if (shown.cookie) reply.header("set-cookie", shown.cookie);
  return reply.code(shown.status).headers(PAGE_HEADERS).send(pageOf(shown));
}

async function pageFor({ headers }: FastifyRequest, work: () => Promise<PageContent>): Promise<PageContent> {
  requirePageLoad(headers);
  return work();
}

function showFault(status: number, { message }: Fault): PageContent {
  const title = status < 500 ? "This did not work" : "Something went wrong";
  const text = status < 500 ? message : "Please try again in a moment.";
  return { status, title, body: `<p>${escaped(text)}</p>` };
}

/** A whole page around a body. Title and body are HTML already. */
function pageOf({ title, body, next }: PageContent): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>${next ? `\n<meta http-equiv="refresh" content="0;url=${escaped(next)}">` : ""}
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`;
}
