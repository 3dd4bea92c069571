import type { AuditContext } from "../../audit/audit-context.js";
import type { Fault } from "../../base/fault.js";
import type { RequestMemory } from "../../memory/request-memory.js";
import type { Visit } from "../../people/visit.js";

export interface RequestHead {
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  readonly traceId: string;
  readonly signal: AbortSignal;
  readonly memory: RequestMemory;
  readonly audit: RequestAudit;
  /** The browser of a person. Present on RPC paths only: nothing else takes cookies. */
  readonly visit?: Visit;
}

export interface RequestAudit {
  readonly context: AuditContext;
  readonly badReason: Fault | undefined;
}
