import { type Caller, loggedActor } from "../../access/caller.js";
import { Fault } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import { EgressError } from "../../egress/egress-error.js";
import { BodyFault } from "../../memory/body-fault.js";
import type { EndedOperation, ParentSpan } from "../../telemetry/ended-operation.js";
import { causeFields } from "./log-cause.js";
import type { LogFields, OperatorLog } from "./operator-log.js";

/** Error codes of failures in tenants' code (docs/errors.md). */
export type FunctionErrorCode = "reactor_error" | "proxy_error";

/** Codes of cancelled requests: their callers disconnected, or their deadline passed. */
export type CancelledCode = "canceled" | "deadline_exceeded";

/** The record of one request for the operator's log. */
export interface Observation {
  caller: Caller | undefined;
  /** The tenant if known without a caller: the owner of a proxy that requires no key. */
  tenantId: TenantId | undefined;
  end(status: number): void;
  fail(status: number, fault: Fault): void;
  /** A tenant's code failed, which is not an internal error, whatever the status. */
  failFunction(status: number, code: FunctionErrorCode): void;
  /** The request was cancelled, which is not a failure. */
  cancel(code: CancelledCode): void;
  /** The response was cut off after its start, for another reason than the caller disconnecting. */
  breakOff(error: unknown): void;
}

export interface ObservedRequest {
  readonly rpc: string;
  /** The path template. Absent for RPC protocols. */
  readonly route?: string;
  readonly traceId: string;
  /** The caller's span, which is the parent. */
  readonly parent: ParentSpan | undefined;
}

/** Web servers log 499 for clients that disconnect. No response has it. */
const CANCELLED_STATUS: Readonly<Record<CancelledCode, number>> = { canceled: 499, deadline_exceeded: 408 };

export type Observe = (request: ObservedRequest) => Observation;

/** One line per request: info for success or a caller's error, error with the cause for an internal one. */
export function observeInto(log: OperatorLog, onEnd: (ended: EndedOperation) => void): Observe {
  return (request) => new LoggedRequest(request, log, onEnd);
}

/** A class, because each request would make a function of each method. */
class LoggedRequest implements Observation {
  caller: Caller | undefined;
  tenantId: TenantId | undefined;
  readonly #request: ObservedRequest;
  readonly #log: OperatorLog;
  readonly #onEnd: (ended: EndedOperation) => void;
  readonly #start = performance.now();
  /** Connect may respond with a refusal that the gate has recorded already. */
  #isOver = false;

  constructor(request: ObservedRequest, log: OperatorLog, onEnd: (ended: EndedOperation) => void) {
    this.#request = request;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  end(status: number): void {
    if (!this.#endsNow()) return;
    this.#onEnd(this.#ended("ok"));
    this.#log.info(this.#fields(status), "served");
  }

  fail(status: number, fault: Fault): void {
    if (!this.#endsNow()) return;
    this.#onEnd({
      ...this.#ended(fault.code),
      bodyRefusal: fault instanceof BodyFault ? fault.refusal : undefined,
    });
    const isOutgoing = fault.cause instanceof EgressError;
    const cause = status >= 500 || isOutgoing ? causeFields(fault.cause) : {};
    const line = { ...this.#fields(status), code: fault.code, ...cause };
    if (status < 500) this.#log.info(line, "refused");
    else this.#log.error(line, "failed");
  }

  failFunction(status: number, code: FunctionErrorCode): void {
    if (!this.#endsNow()) return;
    this.#onEnd(this.#ended(code));
    this.#log.info({ ...this.#fields(status), code }, "refused");
  }

  cancel(code: CancelledCode): void {
    if (!this.#endsNow()) return;
    this.#onEnd(this.#ended(code));
    this.#log.info({ ...this.#fields(CANCELLED_STATUS[code]), code }, "cancelled");
  }

  breakOff(error: unknown): void {
    const { traceId, rpc } = this.#request;
    this.#log.warn({ trace_id: traceId, rpc, ...this.#ownerFields(), ...causeFields(error) }, "cut off");
  }

  #endsNow(): boolean {
    const wasOver = this.#isOver;
    this.#isOver = true;
    return !wasOver;
  }

  #ended(code: string): EndedOperation {
    const { rpc, route, parent } = this.#request;
    return { rpc, route, code, parent, seconds: (performance.now() - this.#start) / 1_000 };
  }

  #fields(status: number): LogFields {
    const { traceId, rpc, route } = this.#request;
    return {
      trace_id: traceId,
      rpc,
      status,
      duration_ms: Math.round((performance.now() - this.#start) * 10) / 10,
      route,
      ...this.#ownerFields(),
    };
  }

  #ownerFields(): LogFields {
    const { caller, tenantId } = this;
    if (!caller) return { tenant_id: tenantId };
    const { id, type } = loggedActor(caller);
    return type === "user"
      ? { tenant_id: caller.tenantId, user_id: id }
      : { tenant_id: caller.tenantId, application_id: id };
  }
}

/** Converts any thrown value to a fault. An error that callers must not see becomes `internal`. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault("internal", "Something went wrong on our side.", { cause: error });
}

/** Whether this was thrown because the request was cancelled. */
export function isCancelled(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error === signal.reason;
}
