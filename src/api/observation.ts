import type { Caller } from "../access/caller.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { EgressError } from "../egress/egress-error.js";
import { BodyFault } from "../memory/body-fault.js";
import type { EndedOperation, ParentSpan } from "../telemetry/ended-operation.js";
import { causeFields } from "./log-cause.js";
import type { LogFields, OperatorLog } from "./operator-log.js";

/** The codes of failures that come from a tenant's code (contract, Errors). */
export type FunctionErrorCode = "reactor_error" | "proxy_error";

/** The codes of requests that nobody waits for any more: their callers left, or wait no longer. */
export type GivenUpCode = "canceled" | "deadline_exceeded";

/** What the operator's log is told of one request. */
export interface Observation {
  caller: Caller | undefined;
  /** Where it is known without a caller: that of a proxy which asks for no key. */
  tenantId: TenantId | undefined;
  end(status: number): void;
  fail(status: number, fault: Fault): void;
  /** A tenant's code failed: whatever status that has, it is no failure of ours. */
  failFunction(status: number, code: FunctionErrorCode): void;
  /** Its work was broken off: that is no failure of anybody's. */
  giveUp(code: GivenUpCode): void;
  /** The answer stopped after its start, and not because the caller left. */
  breakOff(error: unknown): void;
}

export interface ObservedRequest {
  readonly rpc: string;
  /** The path template. Absent for RPC protocols. */
  readonly route?: string;
  readonly traceId: string;
  /** The caller's span that it is a part of. */
  readonly parent: ParentSpan | undefined;
}

/** 499 is what web servers note of callers that leave. Nobody is answered with it. */
const GIVEN_UP_STATUS: Readonly<Record<GivenUpCode, number>> = { canceled: 499, deadline_exceeded: 408 };

export type Observe = (request: ObservedRequest) => Observation;

/** One line a request: info when it succeeded or the caller was at fault, error with the cause when we were. */
export function observeInto(log: OperatorLog, onEnd: (ended: EndedOperation) => void): Observe {
  return ({ rpc, route, traceId, parent }) => {
    const start = performance.now();
    // Connect may answer with a refusal that the gate has told of already.
    let isOver = false;
    const isFirst = () => {
      const wasOver = isOver;
      isOver = true;
      return !wasOver;
    };
    const observation: Observation = {
      caller: undefined,
      tenantId: undefined,
      end(status) {
        if (!isFirst()) return;
        onEnd(ended("ok"));
        log.info(fields(status), "served");
      },
      fail(status, fault) {
        if (!isFirst()) return;
        onEnd({ ...ended(fault.code), bodyRefusal: fault instanceof BodyFault ? fault.refusal : undefined });
        const isOutgoing = fault.cause instanceof EgressError;
        const cause = status >= 500 || isOutgoing ? causeFields(fault.cause) : {};
        const line = { ...fields(status), code: fault.code, ...cause };
        if (status < 500) log.info(line, "refused");
        else log.error(line, "failed");
      },
      failFunction(status, code) {
        if (!isFirst()) return;
        onEnd(ended(code));
        log.info({ ...fields(status), code }, "refused");
      },
      giveUp(code) {
        if (!isFirst()) return;
        onEnd(ended(code));
        log.info({ ...fields(GIVEN_UP_STATUS[code]), code }, "given up");
      },
      breakOff(error) {
        log.warn({ trace_id: traceId, rpc, ...ownerFields(observation), ...causeFields(error) }, "broken off");
      },
    };
    const ended = (code: string): EndedOperation => ({
      ...{ rpc, route, code, parent },
      seconds: (performance.now() - start) / 1_000,
    });
    const fields = (status: number): LogFields => ({
      trace_id: traceId,
      rpc,
      status,
      duration_ms: Math.round((performance.now() - start) * 10) / 10,
      ...(route === undefined ? {} : { route }),
      ...ownerFields(observation),
    });
    return observation;
  };
}

function ownerFields({ caller, tenantId }: Observation): LogFields {
  if (caller) return { tenant_id: caller.tenantId, application_id: caller.application.id };
  return tenantId === undefined ? {} : { tenant_id: tenantId };
}

/** Whatever was thrown, as a fault. What is no fault of ours to tell becomes `internal`. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault("internal", "Something went wrong on our side.", { cause: error });
}

/** Whether this was thrown since nobody waits for the answer any more. */
export function isGivenUp(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error === signal.reason;
}
