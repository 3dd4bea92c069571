import { promises as dns } from "node:dns";
import { EgressError, type FailureReason, systemErrorCode } from "./egress-error.js";

/** All addresses of a name, as text. Rejects with {@link EgressError} `name_*` if it has no address. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Top-level names that the public DNS does not delegate: RFC 6761, 6762, 8375, and ICANN's `internal` of 2024. */
const privateSuffixes = [".localhost", ".local", ".internal", ".home.arpa", ".test"];

/**
 * The resolver for production. c-ares resolves public names over DNS; the system resolves names of the operator's own
 * network (single labels, private suffixes, hosts on the allow list), with /etc/hosts and search domains. The split
 * keeps tenants apart: getaddrinfo holds one of libuv's four threads until it gives up, and at most two at once, so two
 * names with unresponsive servers would stop every look-up of the process.
 */
export function systemResolver(
  isOperatorsName: (name: string) => boolean,
  overDns: ResolveName = resolveOver(new dns.Resolver({ timeout: 2_000, tries: 2 })),
  overSystem: ResolveName = lookUp,
): ResolveName {
  return async (name) => {
    if (!name.includes(".") || privateSuffixes.some((suffix) => name.endsWith(suffix)) || isOperatorsName(name)) {
      return overSystem(name);
    }
    try {
      return await overDns(name);
    } catch (error) {
      // No name server is reachable: some machines only have nsswitch. The name is not at fault.
      if (error instanceof EgressError && error.systemCode === "ECONNREFUSED") return overSystem(name);
      throw error;
    }
  };
}

/** Resolves A and AAAA records, IPv4 first: a broken IPv6 route is the more common fault. */
export function resolveOver(resolver: Pick<dns.Resolver, "resolve4" | "resolve6">): ResolveName {
  return async (name) => {
    const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    if (addresses.length > 0) return addresses;
    const errors = results.flatMap((result) => (result.status === "rejected" ? [nameError(result.reason)] : []));
    // "No AAAA record" is less informative than a time-out or a refusal of the other query.
    throw errors.find(({ reason }) => reason !== "name_not_found") ?? errors[0] ?? new EgressError("name_not_found");
  };
}

async function lookUp(name: string): Promise<readonly string[]> {
  try {
    const found = await dns.lookup(name, { all: true, order: "verbatim" });
    return found.map(({ address }) => address);
  } catch (error) {
    throw nameError(error);
  }
}

const reasonOfCode: Readonly<Record<string, FailureReason>> = {
  ENOTFOUND: "name_not_found",
  ENODATA: "name_not_found",
  ENONAME: "name_not_found",
  ETIMEOUT: "name_timeout",
};

function nameError(error: unknown): EgressError {
  return new EgressError(reasonOfCode[systemErrorCode(error) ?? ""] ?? "name_failed", "not_sent", error);
}
