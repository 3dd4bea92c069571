import type { IncomingMessage, ServerResponse } from "node:http";
import { joinedHeader } from "../../base/joined-header.js";
import type { RequestMemory } from "../../memory/request-memory.js";
import { requestMemory } from "../request/open-memory.js";
import { requestAudit } from "../request/request-audit.js";
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
    return joinedHeader(this.#request, name);
  }

  get memory(): RequestMemory {
    return requestMemory(this.#request);
  }

  get audit(): RequestAudit {
    return requestAudit(this.#request);
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
