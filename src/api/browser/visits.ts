import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { AuditContext } from "../../audit/audit-context.js";
import { Fault } from "../../base/fault.js";
import type { CookieName, NewCookie, Visit } from "../../people/visit.js";
import type { ReadClient } from "../connection/client-address.js";
import type { ArrivedRequest } from "../connection/exchange.js";
import { requestAudit } from "../request/request-audit.js";
import { describeBrowser } from "./browser-name.js";
import { isPrefetch } from "./fetch-metadata.js";

/** The header that our pages add to each call. A form cannot send it, and other origins' scripts get no permission to. */
const OUR_HEADER = "x-cloakroom-console";
/** The header of calls that a page makes by itself. */
const IDLE_HEADER = "x-cloakroom-idle";

const BASE_NAMES: Readonly<Record<CookieName, string>> = {
  sign_in: "cloakroom-sign-in",
  asking: "cloakroom-asking",
  openid: "cloakroom-openid",
  passkey: "cloakroom-passkey",
  known: "cloakroom-known",
};

/**
 * Browsers that return from an issuer's page or a mail do not send Strict cookies; those of Lax come with navigations
 * only. A sign-in is never needed for a navigation: pages are public, and ask who is signed in.
 */
const SAME_SITE: Readonly<Record<CookieName, "Strict" | "Lax">> = {
  sign_in: "Strict",
  asking: "Lax",
  openid: "Lax",
  passkey: "Strict",
  known: "Strict",
};

export interface Visits {
  of(request: ArrivedRequest): Visit;
  setCookie(cookie: NewCookie): string;
}

export interface VisitParts {
  /** The address under which people reach the server, once it is known. */
  address(): string;
  /** The whole address of a client, and the network that limits count. */
  readonly readAddress: ReadClient;
  readonly readNetwork: ReadClient;
}

export function createVisits({ address, ...readers }: VisitParts): Visits {
  let known: Site | undefined;
  const site = () => {
    known ??= siteOf(address());
    return known;
  };
  const reading = { ...readers, site };
  return {
    of: (request) => new RequestVisit(request, reading),
    setCookie({ name, value, maxAge }) {
      const { names, isSecure } = site();
      const attributes = `Path=/; HttpOnly; SameSite=${SAME_SITE[name]}; Max-Age=${value ? maxAge : 0}`;
      return `${names[name]}=${value?.reveal() ?? ""}; ${attributes}${isSecure ? "; Secure" : ""}`;
    },
  };
}

interface VisitReading extends Pick<VisitParts, "readAddress" | "readNetwork"> {
  site(): Site;
}

/** Every call over RPC has one, and few read it: a class has no closures to make for each. */
class RequestVisit implements Visit {
  readonly #request: ArrivedRequest;
  readonly #reading: VisitReading;

  constructor(request: ArrivedRequest, reading: VisitReading) {
    this.#request = request;
    this.#reading = reading;
  }

  get address(): string {
    return this.#reading.readAddress(this.#request);
  }

  get network(): string {
    return this.#reading.readNetwork(this.#request);
  }

  get client(): string {
    return describeBrowser(this.#request.headers["user-agent"]);
  }

  get isIdle(): boolean {
    return this.#request.headers[IDLE_HEADER] !== undefined;
  }

  get context(): AuditContext {
    return requestAudit(this.#request).context;
  }

  cookie(name: CookieName): string | undefined {
    const { cookie } = this.#request.headers;
    return cookie === undefined ? undefined : cookieIn(cookie, this.#reading.site().names[name]);
  }

  requireOwnPage(): void {
    requireOwnPage(this.#request.headers, this.#reading.site());
  }
}

/** What cookies depend on: where people reach the server. */
interface Site {
  readonly origin: string;
  readonly isSecure: boolean;
  readonly isLoopback: boolean;
  readonly names: Readonly<Record<CookieName, string>>;
}

/**
 * Cookies ignore ports. Their names contain a part of the origin's hash, to keep two vaults on one host from overwriting
 * each other's. Safari refuses Secure over http, also on loopback, which has names without prefix.
 */
function siteOf(address: string): Site {
  const { origin, protocol, hostname } = new URL(address);
  const isSecure = protocol === "https:";
  const mark = createHash("sha256").update(origin).digest("hex").slice(0, 8);
  const cookieName = (name: CookieName) => `${isSecure ? "__Host-" : ""}${BASE_NAMES[name]}-${mark}`;
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  return {
    origin,
    isSecure,
    isLoopback,
    names: {
      sign_in: cookieName("sign_in"),
      asking: cookieName("asking"),
      openid: cookieName("openid"),
      passkey: cookieName("passkey"),
      known: cookieName("known"),
    },
  };
}

/** Whether a request has a cookie that proves something, of any vault on this host. */
export function hasOurCookie({ cookie }: IncomingHttpHeaders): boolean {
  return cookie !== undefined && /(?:^|;\s*)(?:__Host-)?cloakroom-(?:sign-in|asking|openid|passkey)-/.test(cookie);
}

function cookieIn(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const [found = "", ...value] = pair.trim().split("=");
    if (found === name) return value.join("=") || undefined;
  }
  return undefined;
}

/** Old browsers send no Sec-Fetch-Site: their Origin must be ours. */
function requireOwnPage(headers: IncomingHttpHeaders, { origin, isSecure, isLoopback }: Site): void {
  if (!isSecure && !isLoopback) {
    throw new Fault(
      "unprocessable",
      "People can sign in over HTTPS only. The operator must set CLOAKROOM_PUBLIC_URL to an https address.",
    );
  }
  const site = headers["sec-fetch-site"];
  const isOwn = site === undefined ? headers.origin === origin : site === "same-origin";
  if (isOwn && headers[OUR_HEADER] === "1" && !isPrefetch(headers)) return;
  throw new Fault(
    "permission_denied",
    "Only pages of this server may call this for a person, with POST and the header X-Cloakroom-Console: 1.",
  );
}
