import type { IncomingMessage, ServerResponse } from "node:http";
import { headerOf } from "../../base/header-of.js";
import type { RequestMemory } from "../../memory/request-memory.js";
import { auditOf } from "../request/audit-of.js";
import { memoryOf } from "../request/memory-of.js";
import type { RequestAudit, RequestHead } from "../request/request-head.js";

export class RestHead implements RequestHead {
  readonly traceId: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, traceId: string) {
    this.traceId = traceId;
    this.#request = request;
    this.#response = response;
  }

  header(name: string): string | undefined {
    return headerOf(this.#request, name);
  }

  get memory(): RequestMemory {
    return memoryOf(this.#request);
  }

  get audit(): RequestAudit {
    return auditOf(this.#request);
  }

  /** Created on first use: most methods never use it, and an aborted controller costs 20 us. */
  get signal(): AbortSignal {
    this.#controller ??= this.#abortWhenClosed();
    return this.#controller.signal;
  }

  #abortWhenClosed(): AbortController {
    const controller = new AbortController();
    // A caller that has disconnected causes no further event. Over HTTP/2 responses do not know whether they are
    // destroyed.
    if (this.#request.aborted || this.#response.destroyed) controller.abort();
    this.#response.once("close", () => {
      if (!this.#response.writableEnded) controller.abort();
    });
    return controller;
  }
}
