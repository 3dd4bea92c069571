import type { IncomingHttpHeaders } from "node:http";
import { isFromBrowser } from "./fetch-metadata.js";

interface HeaderGroup {
  /** The effect in a browser: why a tenant's content may not have them. */
  readonly effect: string;
  /** In lower case, separated by blanks. A `*` at the end matches any ending. */
  readonly names: string;
}

/**
 * Response headers that act on the whole origin, its visitors or a document. Destinations and reactors respond on the
 * vault's origin, shared with every other tenant and our own pages, so none of these passes. All other headers do.
 */
export const ORIGIN_HEADERS: readonly HeaderGroup[] = [
  {
    effect: "lets a service worker take over paths above its own",
    names: "service-worker-allowed",
  },
  {
    effect: "is kept for the origin or its host, or deletes what is kept",
    names: `strict-transport-security public-key-pins* expect-ct alt-svc clear-site-data origin-policy accept-ch
      accept-ch-lifetime critical-ch set-login shared-storage-write activate-storage-access use-as-dictionary
      secure-session-* sec-*`,
  },
  {
    effect: "sends reports about visitors to an address of the tenant's choice",
    names: "nel report-to reporting-endpoints attribution-reporting-* ad-auction-* observe-browsing-topics",
  },
  {
    effect: "sets the rules of a document or of its process; ours hold",
    names: `content-security-policy* x-content-security-policy* x-webkit-csp* x-content-type-options
      permissions-policy* feature-policy document-policy* require-document-policy integrity-policy*
      document-isolation-policy* cross-origin-* origin-agent-cluster referrer-policy supports-loading-mode
      x-permitted-cross-domain-policies`,
  },
  {
    effect: "loads or navigates by itself",
    names: "refresh speculation-rules no-vary-search sourcemap x-sourcemap",
  },
];

/** Headers that act on the origin only in browsers. Other clients get them. */
export const BROWSER_HEADERS: readonly HeaderGroup[] = [
  { effect: "is kept and sent to the origin again", names: "set-cookie set-cookie2" },
  {
    effect: "asks people for a password in the name of the origin",
    names: "www-authenticate proxy-authenticate authentication-info proxy-authentication-info",
  },
  {
    effect: "grants rights to pages of other origins, which CLOAKROOM_CORS_ORIGINS decides",
    names: "access-control-* timing-allow-origin",
  },
];

/** The relations of a link (RFC 8288, 3). Browsers also take a text in single quotes, and spaces without quotes. */
const RELATION = /;\s*rel\*?\s*=\s*("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^;,]*)/gi;

/** Relations that a browser follows by itself. Links of an API, such as `next`, pass. */
const LOADING = /preload|prefetch|prerender|preconnect|stylesheet|icon|manifest|serviceworker|dictionary|expect/i;

const forAll = matcherOf(ORIGIN_HEADERS);
const forBrowsers = matcherOf(BROWSER_HEADERS);

/** Returns the predicate of response headers that a tenant's content may have for this request. */
export function passedHeaders(request: IncomingHttpHeaders): (name: string, value: string) => boolean {
  const isBrowser = isFromBrowser(request);
  return (name, value) => {
    const lower = name.toLowerCase();
    if (forAll(lower) || (isBrowser && forBrowsers(lower))) return false;
    return lower !== "link" || !isLoading(value);
  };
}

function isLoading(link: string): boolean {
  return [...link.matchAll(RELATION)].some(([, relation = ""]) => LOADING.test(relation.replaceAll("\\", "")));
}

function matcherOf(groups: readonly HeaderGroup[]): (lower: string) => boolean {
  const all = groups.flatMap(({ names }) => names.split(/\s+/));
  const exact = new Set(all.filter((name) => !name.endsWith("*")));
  const beginnings = all.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  return (lower) => exact.has(lower) || beginnings.some((beginning) => lower.startsWith(beginning));
}
