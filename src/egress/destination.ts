import { invalid } from "../base/fault.js";
import { EgressError, egressExpectation, isRefusal } from "./egress-error.js";
import type { EgressPolicy, EgressTarget } from "./egress-policy.js";
import { readHost } from "./host.js";

/** A URL that may be called, before its name is resolved. */
export interface Destination extends EgressTarget {
  /** Whether the URL names an address instead of a host name. */
  readonly isAddress: boolean;
  /** Whether the URL may be stored: its host is a name, or an address that the operator allows. */
  readonly isNamed: boolean;
  /** The Host header's value, with the port unless it is the scheme's default. */
  readonly authority: string;
  /** Path and query, at least "/". */
  readonly path: string;
  /** The whole URL in its normal form. */
  readonly href: string;
}

/**
 * Parses and checks a URL that a tenant saves or that is about to be called, by the same rules.
 * @throws EgressError with the reason; its delivery is `not_sent`.
 */
export function readDestination(url: string, policy: EgressPolicy): Destination {
  // The URL parser tolerates what others read differently: "https:\\host", tabs inside, no slashes, a second "@".
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(url) ?? [];
  if (/[\p{Cc}\s\\]/u.test(url)) throw new EgressError("not_a_url");
  if (/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^https?:/i.test(url)) throw new EgressError("scheme");
  if (authority === undefined) throw new EgressError("not_a_url");
  if (authority.includes("@")) throw new EgressError("user_info");
  if (url.includes("#")) throw new EgressError("fragment");
  if (authority.includes("%") || !URL.canParse(url)) throw new EgressError("host");

  const parsed = new URL(url);
  const host = readHost(parsed.hostname);
  if (host === undefined) throw new EgressError("host");
  const protocol = parsed.protocol === "http:" ? "http:" : "https:";
  const port = parsed.port === "" ? (protocol === "https:" ? 443 : 80) : Number(parsed.port);
  const target = { protocol, host: host.text, port } as const;
  const isAddress = host.kind === "address";
  const reason = reasonToAllow(target, isAddress, policy);
  // Without the trailing dot, in the form that is judged, resolved and matched with the certificate.
  if (!isAddress) parsed.hostname = host.text;
  return {
    ...target,
    isAddress,
    isNamed: !isAddress || reason === "operator_allowed",
    authority: parsed.host,
    path: `${parsed.pathname}${parsed.search}`,
    href: parsed.href,
  };
}

/** As {@link readDestination}, for a field of a request. @throws Fault validation_failed naming the field. */
export function validDestination(field: string, url: string, policy: EgressPolicy): Destination {
  try {
    return readDestination(url, policy);
  } catch (error) {
    if (error instanceof EgressError && isRefusal(error.reason)) throw invalid(field, egressExpectation(error.reason));
    throw error;
  }
}

/**
 * As {@link validDestination}, for a URL that is stored: certificates and operators' lists name hosts, not addresses.
 * @throws Fault validation_failed naming the field.
 */
export function requireNamedDestination(field: string, url: string, policy: EgressPolicy): void {
  if (!validDestination(field, url, policy).isNamed) throw invalid(field, "must name a host, not an address");
}

/**
 * The reason to allow the target; undefined for a name, because its addresses are judged at the call. @throws
 * EgressError
 */
function reasonToAllow(target: EgressTarget, isAddress: boolean, policy: EgressPolicy) {
  if (isAddress) {
    const decision = policy.judge(target, target.host);
    if (!decision.allowed) throw new EgressError(decision.reason);
    return decision.reason;
  }
  const objection = policy.objectionToName(target);
  if (objection !== undefined) throw new EgressError(objection);
  return undefined;
}
