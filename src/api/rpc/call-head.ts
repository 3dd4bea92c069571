import { joinedHeader } from "../../base/joined-header.js";
import type { RequestMemory } from "../../memory/request-memory.js";
import type { Visit } from "../../people/visit.js";
import type { Visits } from "../browser/visits.js";
import type { ArrivedRequest } from "../connection/exchange.js";
import { requestMemory } from "../request/open-memory.js";
import { requestAudit } from "../request/request-audit.js";
import type { RequestAudit, RequestHead } from "../request/request-head.js";

/** Has the signal that ends a call. */
interface Aborting {
  readonly signal: AbortSignal;
}

export class CallHead implements RequestHead {
  readonly traceId: string;
  readonly #request: ArrivedRequest;
  readonly #visits: Visits;
  readonly #abort: Aborting;

  constructor(request: ArrivedRequest, traceId: string, visits: Visits, abort: Aborting) {
    this.traceId = traceId;
    this.#request = request;
    this.#visits = visits;
    this.#abort = abort;
  }

  header(name: string): string | undefined {
    return joinedHeader(this.#request, name);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get memory(): RequestMemory {
    return requestMemory(this.#request);
  }

  get audit(): RequestAudit {
    return requestAudit(this.#request);
  }

  get visit(): Visit {
    return this.#visits.of(this.#request);
  }
}
