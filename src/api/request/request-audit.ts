import { type AuditContext, EMPTY_CONTEXT } from "../../audit/audit-context.js";
import { classifyClient } from "../../audit/client-class.js";
import { readReason } from "../../audit/reason.js";
import { loggedTrace } from "../../audit/trace-id.js";
import { Fault } from "../../base/fault.js";
import type { ReadAddress } from "../connection/client-address.js";
import type { ArrivedRequest } from "../connection/exchange.js";
import { requestTraceId } from "../observation/trace.js";
import type { RequestAudit } from "./request-head.js";

/** What requests tell log rows, and until that is read, how their addresses are read. */
const audits = new WeakMap<ArrivedRequest, ReadAddress | RequestAudit>();

export function openAudit(readAddress: ReadAddress, request: ArrivedRequest): void {
  audits.set(request, readAddress);
}

/** What a request tells log rows, read at first use. Its trace id must be assigned already. */
export function requestAudit(request: ArrivedRequest): RequestAudit {
  const known = audits.get(request);
  if (!known) throw new Error("a request bypassed the server's entry point");
  if (typeof known !== "function") return known;
  const audit = readAudit(known, request);
  audits.set(request, audit);
  return audit;
}

function readAudit(readAddress: ReadAddress, request: ArrivedRequest): RequestAudit {
  const context: AuditContext = {
    ...EMPTY_CONTEXT,
    address: readAddress(request),
    client: classifyClient(request.headers["user-agent"]),
    traceId: loggedTrace(requestTraceId(request)),
  };
  if (request.headers[REASON] === undefined && request.headers[REASON_BIN] === undefined) {
    return { context, badReason: undefined };
  }
  try {
    return { context: { ...context, reason: readReason(sentReason(request)) }, badReason: undefined };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { context, badReason: error };
  }
}

const REASON = "x-cloakroom-reason";
/** gRPC metadata holds ASCII only; other text comes in binary metadata, as base64. */
const REASON_BIN = "x-cloakroom-reason-bin";

/** @throws {Fault} reason_invalid for more than one reason. */
function sentReason({ rawHeaders }: ArrivedRequest): string | undefined {
  const sent: { readonly name: string; readonly value: string }[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (name === REASON || name === REASON_BIN) sent.push({ name, value: rawHeaders[at + 1] ?? "" });
  }
  const [only, another] = sent;
  if (!only || another) throw new Fault("reason_invalid", "Send one reason, in one header X-Cloakroom-Reason.");
  // Node reads the bytes of a header as Latin-1.
  const bytes = only.name === REASON ? Buffer.from(only.value, "latin1") : fromBase64(only.value);
  return bytes && decoded(bytes);
}

function fromBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
