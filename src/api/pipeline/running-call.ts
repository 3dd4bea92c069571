import type { Message } from "@bufbuild/protobuf";
import type { Caller } from "../../access/caller.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { NewCookie } from "../../people/visit.js";
import type { Reply, VerbatimResponse } from "../../services/call.js";
import type { Database } from "../../store/database.js";
import type { OperatorLog } from "../observation/operator-log.js";
import type { RequestHead } from "../request/request-head.js";
import type { Idempotency } from "./idempotency.js";

interface RunningParts {
  readonly database: Database;
  readonly log: OperatorLog;
}

/** What one request to a method has and leaves. A class, because each request would make a function of each method. */
export class RunningCall {
  readonly database: Database;
  readonly caller: Caller | undefined;
  readonly head: RequestHead;
  readonly reply = new CollectedReply();
  /** Of the caller's tenant. */
  keys: TenantKeys | undefined;
  idempotency: Idempotency | undefined;
  /** Whether one has begun under the caller's revision. */
  hasTransaction = false;
  readonly #log: OperatorLog;
  readonly #rpc: string;

  constructor({ database, log }: RunningParts, rpc: string, head: RequestHead, caller: Caller | undefined) {
    this.#log = log;
    this.#rpc = rpc;
    this.database = database;
    this.head = head;
    this.caller = caller;
  }

  /** The request's idempotency state, returned once: the taker looks up the result of an earlier request. */
  takeIdempotency(): Idempotency | undefined {
    const taken = this.idempotency;
    this.idempotency = undefined;
    return taken;
  }

  warnOfDifferentRepeat(): void {
    const fields = { trace_id: this.head.traceId, rpc: this.#rpc };
    this.#log.warn(fields, "an idempotency key was repeated with another request");
  }
}

export class CollectedReply implements Reply {
  isAccepted = false;
  /** The response is that of an earlier request. */
  isReplayed = false;
  written: VerbatimResponse | undefined;
  cookie: NewCookie | undefined;
  /** The message without what may not be kept. */
  lasting: (() => Message) | undefined;

  accepted(): void {
    this.isAccepted = true;
  }

  verbatim(response: VerbatimResponse): void {
    this.written = response;
  }

  setCookie(cookie: NewCookie): void {
    this.cookie = cookie;
  }
}
