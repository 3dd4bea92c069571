import { type AddressDecision, classifyAddress } from "./address-class.js";
import type { RefusalReason } from "./egress-error.js";
import { coversAddress, coversHost, coversPort, type EgressRule, parseEgressRules } from "./egress-rule.js";
import { embeddedIpv4 } from "./embedded-ipv4.js";
import { isLocalhost } from "./host.js";
import { isWebPort } from "./web-port.js";

export interface EgressTarget {
  readonly protocol: "https:" | "http:";
  /** A name, or an address without brackets, as `readHost` returns them. */
  readonly host: string;
  readonly port: number;
}

/** The decision about one connection, and its metric label. */
export type EgressDecision =
  | { readonly allowed: true; readonly reason: "public" | "operator_allowed" }
  | { readonly allowed: false; readonly reason: RefusalReason };

/** The operator's lists as configured. Absent or empty: no entries. */
export interface EgressLists {
  readonly allow?: string | undefined;
  readonly deny?: string | undefined;
}

/**
 * Decides which destinations may be called. Without lists: https to public unicast addresses on web ports.
 * `CLOAKROOM_EGRESS_ALLOW` lifts the address check and the https-only rule for its entries, and the port check only for
 * an entry with that port. An entry opens a link-local or metadata address only if it names that single address, and a
 * transition prefix only towards inner addresses that are allowed themselves. `CLOAKROOM_EGRESS_DENY` overrides
 * everything.
 */
export class EgressPolicy {
  readonly #allow: readonly EgressRule[];
  readonly #deny: readonly EgressRule[];

  /** @throws Error with one line for the operator if an entry is invalid. */
  constructor(lists: EgressLists = {}) {
    this.#allow = parseEgressRules("CLOAKROOM_EGRESS_ALLOW", lists.allow ?? "");
    this.#deny = parseEgressRules("CLOAKROOM_EGRESS_DENY", lists.deny ?? "");
  }

  /**
   * The objection to a name before it is resolved, if any. If an allow entry might cover the addresses of the name,
   * {@link judge} decides.
   */
  objectionToName(target: EgressTarget): RefusalReason | undefined {
    if (this.#deny.some((rule) => coversHost(rule, target.host, target.port))) return "denied";
    const opened = this.#allow.some(
      (rule) => opensPort(rule, target.port) && (rule.kind === "range" || coversHost(rule, target.host, target.port)),
    );
    if (opened) return undefined;
    if (isLocalhost(target.host)) return "loopback";
    return closedWithoutEntry(target);
  }

  /** Decides about one address: `target.host` itself, or one that it resolved to. */
  judge(target: EgressTarget, address: string): EgressDecision {
    if (this.#denies(target, address)) return { allowed: false, reason: "denied" };
    const decision = classifyAddress(address);
    if (this.#covers(target, address, decision)) return { allowed: true, reason: "operator_allowed" };
    if (!decision.allowed) return decision;
    const reason = closedWithoutEntry(target);
    return reason === undefined ? decision : { allowed: false, reason };
  }

  /** Whether the allow list has this host, on any port. */
  listsHost(host: string): boolean {
    return this.#allow.some((rule) => coversHost({ ...rule, port: undefined }, host, 0));
  }

  #denies(target: EgressTarget, address: string): boolean {
    const addresses = [address, ...embeddedIpv4(address)];
    return this.#deny.some(
      (rule) =>
        coversHost(rule, target.host, target.port) ||
        addresses.some((candidate) => coversAddress(rule, candidate, target.port)),
    );
  }

  #covers(target: EgressTarget, address: string, { reason }: AddressDecision): boolean {
    const rules = this.#allow.filter(
      (rule) =>
        opensPort(rule, target.port) &&
        (coversHost(rule, target.host, target.port) || coversAddress(rule, address, target.port)),
    );
    if (rules.some((rule) => rule.kind === "range" && rule.single)) return true;
    if (rules.length === 0 || reason === "link_local" || reason === "metadata") return false;
    return embeddedIpv4(address).every((inner) => this.judge(target, inner).allowed);
  }
}

function opensPort(rule: EgressRule, port: number): boolean {
  return coversPort(rule, port) && (isWebPort(port) || rule.port !== undefined);
}

function closedWithoutEntry(target: EgressTarget): RefusalReason | undefined {
  if (target.protocol === "http:") return "plain_http";
  return isWebPort(target.port) ? undefined : "port";
}
