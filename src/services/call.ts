import {
  create,
  type DescMessage,
  type DescMethodUnary,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { Caller } from "../access/caller.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import type { AuditContext } from "../audit/audit-context.js";
import type { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { RequestMemory } from "../memory/request-memory.js";
import type { NewCookie, Visit } from "../people/visit.js";
import type { Work } from "../store/transactions/transaction.js";
import { type ReplayRule, type ServedReplay, servedReplay } from "./replay.js";

/** An HTTP response that tenant code wrote. */
export interface VerbatimResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** Headers of a response besides its message, also in a replay. */
export type ResponseHeaders = readonly (readonly [string, string])[];

export interface Reply {
  /** Sets 202 instead of the method's own status: the work continues after the response. */
  accepted(): void;
  /** Over REST, sends this instead of the method's message. */
  verbatim(response: VerbatimResponse): void;
  /** Sets a cookie in the browser of a person: the last one given. */
  setCookie(cookie: NewCookie): void;
}

export interface ServeOptions<O extends DescMessage> {
  readonly headersOf?: (response: MessageShape<O>) => ResponseHeaders;
  /** How to answer a repeat with the same idempotency key. Absent for methods that take no such key. */
  readonly replay?: ReplayRule<O>;
  /** What the frame of a hosted field gets of a response, also of a replayed one. Default: all. */
  readonly shownToFrame?: (response: MessageShape<O>) => MessageInitShape<O>;
}

/** An operation with effects outside of the database. */
export interface ExternalOperation<B extends { readonly subject: Uuid }, T> {
  begin(tx: OrdinaryCallerTransaction): Promise<B>;
  carryOut(begun: B): Promise<T>;
  resume(tx: OrdinaryCallerTransaction, subject: Uuid): Promise<T>;
}

/** One request to a method, over any protocol. */
export interface Call<Output extends DescMessage = DescMessage> {
  readonly caller: Caller;
  readonly keys: TenantKeys;
  /** The request's key, for the one method that checks it by itself. */
  readonly apiKey: string | undefined;
  /** The browser of a person. @throws {Fault} unauthenticated for other callers. */
  readonly visit: Visit;
  /** What the request tells log rows, and why its reason is not accepted. */
  readonly audit: { readonly context: AuditContext; readonly badReason: Fault | undefined };
  readonly signal: AbortSignal;
  readonly memory: RequestMemory;
  readonly reply: Reply;
  /**
   * Runs work in an ordinary transaction, guarded by the caller's revision, and shows its result once it is committed:
   * whatever a response shows in the clear has its log row by then. With an idempotency key, the same transaction stores
   * the part of the response that the method's {@link ReplayRule} keeps. `showLasting` omits what may not be stored with
   * the result of tenant code. A `throw` rolls everything back.
   */
  transact<T>(
    work: Work<T, OrdinaryCallerTransaction>,
    show: (result: T, caller: Caller) => MessageInitShape<Output>,
    showLasting?: (result: T, caller: Caller) => MessageInitShape<Output>,
  ): Promise<MessageInitShape<Output>>;
  /** Like {@link transact}, in a shared transaction: for the hot path. */
  transactShared<T>(
    work: Work<T, CallerTransaction>,
    show: (result: T, caller: Caller) => MessageInitShape<Output>,
    showLasting?: (result: T, caller: Caller) => MessageInitShape<Output>,
  ): Promise<MessageInitShape<Output>>;
  /** Runs a transaction that precedes other work. Its result is not a response yet. */
  commit<T>(work: Work<T, OrdinaryCallerTransaction>): Promise<T>;
  /** Like {@link commit}, in a shared transaction. */
  commitShared<T>(work: Work<T, CallerTransaction>): Promise<T>;
  /**
   * Runs an operation with effects outside of the database. `begin` commits the intent; `carryOut` does what it says and
   * records its end. With an idempotency key no operation begins twice: a repeat gets the stored response, a conflict
   * while the first request is at work, or the result of `resume` after the first was interrupted.
   */
  operate<B extends { readonly subject: Uuid }, T>(
    operation: ExternalOperation<B, T>,
    show: (result: T, caller: Caller) => MessageInitShape<Output>,
  ): Promise<MessageInitShape<Output>>;
  /** Like {@link transact}, for lists and counts, on separate connections. */
  list<T>(
    work: Work<T, OrdinaryCallerTransaction>,
    show: (result: T, caller: Caller) => MessageInitShape<Output> | Promise<MessageInitShape<Output>>,
  ): Promise<MessageInitShape<Output>>;
}

/** Work for responses without database content. Running it checks that the caller still has its rights. */
export const authorizeOnly = async (): Promise<undefined> => undefined;

/** Shows the result of work that a response has nothing to say about. */
export const showNothing = () => ({});

/** What a method does: decode, call the domain, encode. */
export type Handler<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call<O>,
) => Promise<MessageInitShape<O>>;

export interface ServedMethod {
  readonly desc: DescMethodUnary;
  serve(request: Message, makeCall: <O extends DescMessage>(output: O) => Call<O>): Promise<Message>;
  headersOf(response: Message): ResponseHeaders;
  readonly replay: ServedReplay | undefined;
  shownToFrame(response: Message): Message;
}

export function serve<I extends DescMessage, O extends DescMessage>(
  desc: DescMethodUnary<I, O>,
  handler: Handler<I, O>,
  { headersOf = () => [], replay, shownToFrame = (response) => response }: ServeOptions<O> = {},
): ServedMethod {
  return {
    desc,
    serve(request, makeCall) {
      if (!isMessage(request, desc.input)) throw new Error(`${desc.name} was given another message`);
      return handler(request, makeCall(desc.output)).then((shown) => create(desc.output, shown));
    },
    headersOf: (response) => (isMessage(response, desc.output) ? headersOf(response) : []),
    replay: replay && servedReplay(desc.output, replay),
    shownToFrame(response) {
      if (!isMessage(response, desc.output)) throw new Error(`${desc.name} gave another message`);
      return create(desc.output, shownToFrame(response));
    },
  };
}
