import { isIP, type LookupFunction, connect as netConnect, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { readAddress } from "./address-class.js";
import { EgressError } from "./egress-error.js";
import type { EgressDecision, EgressPolicy, EgressTarget } from "./egress-policy.js";
import type { ResolveName } from "./resolve-name.js";

export interface Guard {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveName;
  /** Called for every connection before it is made or refused, for metrics. */
  readonly onDecision: (decision: EgressDecision) => void;
  /** Trusted certificate authorities in PEM; undefined for Node's own and NODE_EXTRA_CA_CERTS. */
  readonly ca: readonly string[] | undefined;
  readonly nameTimeoutMs: number;
  /** Milliseconds from the start of the look-up to the end of the TLS handshake. */
  readonly connectTimeoutMs: number;
}

/**
 * Milliseconds for one address before the next. Node's 250 ms (RFC 8305 5) suits parallel attempts; Node instead
 * cancels the earlier one, and a distant destination under load takes longer than that.
 */
const attemptTimeoutMs = 1_000;

const established = new WeakSet<Socket>();

/** Whether a socket is connected and checked, and its TLS handshake, if any, is complete. */
export function isEstablished(socket: Socket): boolean {
  return established.has(socket);
}

/**
 * The only way out: connects to `target` if the policy allows every address of its name. Dials exactly the addresses
 * that it judged, in order with alternating families; no name is resolved twice. TLS is 1.2 or newer, and the
 * certificate is verified against the name (or the address in the URL) on every connection: resuming a session would
 * skip that.
 * @returns a connecting socket; it is destroyed with an EgressError if the name is refused or the time limit passes,
 * and with Node's own error if the network fails.
 * @throws EgressError at once if `target.host` is a refused address.
 */
export function guardedConnect(target: EgressTarget, guard: Guard): Socket {
  const dialled = new Set<string>();
  const checkAddresses = (addresses: readonly string[]) => {
    assertAllowed(target, addresses, guard);
    for (const address of addresses) dialled.add(canonical(address));
  };
  if (isIP(target.host) !== 0) checkAddresses([target.host]);
  const lookup: LookupFunction = (name, _options, callback) => {
    resolveInTime(name, guard).then(
      (addresses) => {
        try {
          checkAddresses(addresses);
        } catch (refusal) {
          callback(asError(refusal), []);
          return;
        }
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        );
      },
      (error: unknown) => callback(asError(error), []),
    );
  };
  const socket = open(target, lookup, guard);
  const timer = setTimeout(() => socket.destroy(new EgressError("connect_timeout")), guard.connectTimeoutMs);
  socket.once("close", () => clearTimeout(timer));
  // Before all other listeners: not even a TLS greeting may go to an unchecked peer.
  socket.prependOnceListener("connect", () => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || !dialled.has(canonical(remoteAddress))) {
      socket.destroy(new EgressError("wrong_peer"));
    }
  });
  socket.prependOnceListener(readyEvent(target), () => {
    clearTimeout(timer);
    if (!socket.destroyed) established.add(socket);
  });
  return socket;
}

/** The event that marks a socket for this target as ready for requests. */
export function readyEvent({ protocol }: Pick<EgressTarget, "protocol">): "connect" | "secureConnect" {
  return protocol === "https:" ? "secureConnect" : "connect";
}

function open(target: EgressTarget, lookup: LookupFunction, guard: Guard): Socket {
  const options = {
    host: target.host,
    port: target.port,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs,
    noDelay: true,
    keepAlive: true,
  };
  if (target.protocol === "http:") return netConnect(options);
  return tlsConnect({
    ...options,
    // A server name must not be an address (RFC 6066 3); Node then verifies the certificate against `host`.
    servername: isIP(target.host) === 0 ? target.host : "",
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
    rejectUnauthorized: true,
    ...(guard.ca === undefined ? {} : { ca: [...guard.ca] }),
  });
}

/** One refused address refuses the name: a name that resolves both inside and outside is an attempt to get inside. */
function assertAllowed(target: EgressTarget, addresses: readonly string[], guard: Guard): void {
  const decisions = addresses.map((address) => guard.policy.judge(target, address));
  const decision = decisions.find(({ allowed }) => !allowed) ?? decisions[0];
  if (decision === undefined) throw new EgressError("name_not_found");
  guard.onDecision(decision);
  if (!decision.allowed) throw new EgressError(decision.reason);
}

async function resolveInTime(name: string, guard: Guard): Promise<readonly string[]> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new EgressError("name_timeout")), guard.nameTimeoutMs);
  try {
    const addresses = await Promise.race([guard.resolve(name), timeout]);
    return [...new Set(addresses)];
  } finally {
    clearTimeout(timer);
  }
}

function canonical(ip: string): string {
  return readAddress(ip)?.toString() ?? ip;
}

function asError(error: unknown): Error {
  return error instanceof EgressError ? error : new EgressError("name_failed", "not_sent", error);
}
