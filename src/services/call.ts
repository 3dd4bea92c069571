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
import type { Uuid } from "../base/ids.js";
import type { Json } from "../base/json.js";
import type { RequestMemory } from "../memory/memory-lease.js";
import type { OrdinaryTransaction, Work } from "../store/transaction.js";
import { type ReplayRule, type ServedReplay, servedReplay } from "./replay.js";

/** An HTTP answer that tenant code wrote. */
export interface VerbatimAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** Headers that an answer has beside its message, also where it is told again. */
export type AnswerHeaders = readonly (readonly [string, string])[];

/** What an answer says beside its message. */
export interface Reply {
  /** 202 instead of the method's own status: the work goes on after the answer. */
  accepted(): void;
  /** Over REST, this instead of the method's message. */
  verbatim(answer: VerbatimAnswer): void;
}

/** What serving a method takes beside its handler. */
export interface ServeOptions<O extends DescMessage> {
  /** Reads headers from an answer. */
  readonly headersOf?: (answer: MessageShape<O>) => AnswerHeaders;
  /** How a repeat with the same idempotency key is answered. Methods that take no such key have none. */
  readonly replay?: ReplayRule<O>;
}

/** An operation with effects outside of the database. */
export interface EngagedOperation<B extends { readonly subject: Uuid }, T> {
  begin(tx: OrdinaryTransaction): Promise<B>;
  act(begun: B): Promise<T>;
  resume(tx: OrdinaryTransaction, subject: Uuid): Promise<T>;
}

/** One request on its way through a method, whatever protocol it came by. */
export interface Call<Output extends DescMessage = DescMessage> {
  /** Who calls. Methods that need no key read it only when there is one. */
  readonly caller: Caller;
  readonly hasCaller: boolean;
  /** The key that the call came with, for the one method that checks it by itself. */
  readonly apiKey: string | undefined;
  readonly traceId: string;
  readonly signal: AbortSignal;
  /** What the call may use of the memory for bodies. */
  readonly memory: RequestMemory;
  readonly reply: Reply;
  /**
   * Runs work in a transaction of its own, guarded by the caller's revision, and shows its result once it is committed: what
   * is opened for an answer has its log row by then. With an idempotency key the part of the answer that the method's
   * {@link ReplayRule} keeps is stored in the same transaction. `showLasting` leaves out what may not be kept with the result
   * of tenant code. A `throw` rolls everything back.
   */
  transact<T>(
    work: Work<T, OrdinaryTransaction>,
    show: (result: T) => MessageInitShape<Output>,
    showLasting?: (result: T) => MessageInitShape<Output>,
  ): Promise<MessageInitShape<Output>>;
  /** As {@link transact}, in a transaction that the requests of a tenant share: for the hot path. */
  transactShared<T>(
    work: Work<T>,
    show: (result: T) => MessageInitShape<Output>,
    showLasting?: (result: T) => MessageInitShape<Output>,
  ): Promise<MessageInitShape<Output>>;
  /** A transaction that comes before other work: what it leaves is no answer yet. */
  commit<T>(work: Work<T, OrdinaryTransaction>): Promise<T>;
  /** As {@link commit}, in a shared transaction. */
  commitShared<T>(work: Work<T>): Promise<T>;
  /**
   * Runs an operation with effects outside of the database. `begin` commits what is about to happen; `act` does it and
   * notes its end by itself. With an idempotency key nothing is ever begun twice: a repeat is told the stored answer, a
   * conflict while the first is at work, and what `resume` finds of it after the first was cut off.
   */
  engage<B extends { readonly subject: Uuid }, T>(
    operation: EngagedOperation<B, T>,
    show: (result: T) => MessageInitShape<Output>,
  ): Promise<MessageInitShape<Output>>;
  /** As {@link transact}, for lists and counts: on connections of their own. */
  list<T>(
    work: Work<T, OrdinaryTransaction>,
    show: (result: T) => MessageInitShape<Output> | Promise<MessageInitShape<Output>>,
  ): Promise<MessageInitShape<Output>>;
}

/** Work for answers that come from no table: running it asks whether the caller still has its rights. */
export const NOTHING = async (): Promise<undefined> => undefined;

/** What a method does: decode, call the domain, encode. */
export type Handler<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: Call<O>,
) => Promise<MessageInitShape<O>>;

/** A method with its handler, the types of its messages hidden. */
export interface ServedMethod {
  readonly desc: DescMethodUnary;
  serve(request: Message, makeCall: <O extends DescMessage>(output: O) => Call<O>): Promise<Message>;
  headersOf(answer: Message): AnswerHeaders;
  readonly replay: ServedReplay | undefined;
}

/** Ties a handler to its method, and checks that both are about the same message. */
export function serve<I extends DescMessage, O extends DescMessage>(
  desc: DescMethodUnary<I, O>,
  handler: Handler<I, O>,
  { headersOf = () => [], replay }: ServeOptions<O> = {},
): ServedMethod {
  return {
    desc,
    async serve(request, makeCall) {
      if (!isMessage(request, desc.input)) throw new Error(`${desc.name} was given another message`);
      return create(desc.output, await handler(request, makeCall(desc.output)));
    },
    headersOf: (answer) => (isMessage(answer, desc.output) ? headersOf(answer) : []),
    replay: replay && servedReplay(desc.output, replay),
  };
}
