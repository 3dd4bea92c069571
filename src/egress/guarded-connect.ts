import { isIP, type LookupFunction, connect as netConnect, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { readAddress } from "./address-class.js";
import { EgressError } from "./egress-error.js";
import type { EgressDecision, EgressPolicy, EgressTarget } from "./egress-policy.js";
import type { ResolveName } from "./resolve-name.js";

/** What every connection is made under. */
export interface Guard {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveName;
  /** Called once for every connection that is about to be made or refused, for metrics. */
  readonly onDecision: (decision: EgressDecision) => void;
  /** Trusted certificate authorities in PEM; undefined for Node's own, with NODE_EXTRA_CA_CERTS. */
  readonly ca: readonly string[] | undefined;
  readonly nameTimeoutMs: number;
  /** From the start of the look-up to the end of the TLS handshake. */
  readonly connectTimeoutMs: number;
}

/**
 * How long one address is tried before the next. Node's 250 ms (RFC 8305 5) is made for racing attempts; Node gives the
 * earlier one up instead, and a far destination under load answers later than that.
 */
const attemptTimeoutMs = 1_000;

const established = new WeakSet<Socket>();

/** Whether a socket made here is connected, checked, and where TLS is used through its handshake. */
export function isEstablished(socket: Socket): boolean {
  return established.has(socket);
}

/**
 * The one way out: connects to `target` if the policy allows every address of its name.
 *
 * The addresses that are judged are the ones dialled, in their order with families alternating; nothing is resolved a
 * second time. TLS is 1.2 or newer, and the certificate is verified against the name (or the address, where the URL has
 * one) on every connection: sessions are not resumed, as that would skip it.
 *
 * @returns a connecting socket; it is destroyed with an EgressError when the name is refused or time runs out, and with
 * Node's own error when the network fails.
 * @throws EgressError at once when `target.host` is an address that is refused.
 */
export function guardedConnect(target: EgressTarget, guard: Guard): Socket {
  const dialled = new Set<string>();
  const admit = (addresses: readonly string[]) => {
    assertAllowed(target, addresses, guard);
    for (const address of addresses) dialled.add(canonical(address));
  };
  if (isIP(target.host) !== 0) admit([target.host]);
  const lookup: LookupFunction = (name, _options, callback) => {
    resolveInTime(name, guard).then(
      (addresses) => {
        try {
          admit(addresses);
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
  // Before all other listeners, so that not even a TLS greeting goes to a peer that was not checked.
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

/** The event after which a socket made for this target carries requests. */
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
    // Stated, since NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
    rejectUnauthorized: true,
    ...(guard.ca === undefined ? {} : { ca: [...guard.ca] }),
  });
}

/** One refused address refuses the name: a name that leads both inside and outside is an attempt to get inside. */
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
