import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Caller } from "../access/caller.js";
import { Refused } from "../access/refusal.js";
import { Fault } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import type { Call, EngagedOperation, Reply } from "../services/call.js";
import type { Database } from "../store/database.js";
import { LockTimeout, UniqueViolation } from "../store/database-error.js";
import type { Transaction } from "../store/transaction.js";
import { type Idempotency, type Replay, stillRunning } from "./idempotency.js";
import type { RequestHead } from "./request-head.js";

/** What a call is made of, once it is admitted and read. */
export interface CallParts {
  readonly database: Database;
  readonly caller: Caller | undefined;
  readonly head: RequestHead;
  readonly reply: Reply & {
    readonly isAccepted: boolean;
    keepAs(message: () => Message): void;
    /** The answer is that of an earlier request. */
    replayed(): void;
  };
  /** What the request's idempotency key stands for, once: whoever takes it asks what became of an earlier request. */
  takeIdempotency(): Idempotency | undefined;
  /** Called when a repeat brought another request. */
  onDifferentRepeat(): void;
}

const TAKEN_ATTEMPTS = 4;

export function transactingCall<Output extends DescMessage>(output: Output, parts: CallParts): Call<Output> {
  const caller = () => {
    if (!parts.caller) throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
    return parts.caller;
  };
  return {
    traceId: parts.head.traceId,
    reply: parts.reply,
    hasCaller: parts.caller !== undefined,
    get apiKey() {
      return parts.head.header("bt-api-key");
    },
    // Not read before a handler asks: it is made only then.
    get signal() {
      return parts.head.signal;
    },
    get memory() {
      return parts.head.memory;
    },
    get caller() {
      return caller();
    },
    async transact(work, show, showLasting = show) {
      const { tenantId, revision } = caller();
      const idempotency = parts.takeIdempotency();
      const fly = <T>(run: (tx: Transaction) => Promise<T>) =>
        retryTaken(idempotency !== undefined, () => parts.database.fast.run(tenantId, revision, run));
      if (!idempotency) {
        const result = answerOf(await fly(work));
        parts.reply.keepAs(() => create(output, showLasting(result)));
        return show(result);
      }
      const outcome = answerOf(await fly((tx) => answerOnce(output, parts, idempotency, tx, work, show)));
      return outcome.kind === "shown" ? outcome.message : showReplay(parts, outcome.replay);
    },
    async commit(work) {
      const { tenantId, revision } = caller();
      return answerOf(await parts.database.fast.run(tenantId, revision, work));
    },
    async engage(operation, show) {
      const { tenantId, revision } = caller();
      const idempotency = parts.takeIdempotency();
      const fly = <T>(run: (tx: Transaction) => Promise<T>) =>
        retryTaken(idempotency !== undefined, () => parts.database.fast.run(tenantId, revision, run));
      if (!idempotency) return show(await operation.act(answerOf(await fly((tx) => operation.begin(tx)))));
      const met = answerOf(await fly((tx) => beginOnce(output, idempotency, tx, operation)));
      if (met.kind === "answered") return showReplay(parts, met.replay);
      if (met.kind === "resumed") parts.reply.replayed();
      const result = met.kind === "begun" ? await operation.act(met.begun) : met.result;
      const shown = create(output, show(result));
      await parts.database.fast.run(tenantId, "unguarded", async (tx) => idempotency.complete(tx, output, shown));
      return show(result);
    },
    async list(work, show) {
      const { tenantId, revision } = caller();
      return show(answerOf(await parts.database.slow.run(tenantId, revision, work)));
    },
  };
}

/**
 * Runs again what met a row that another transaction had just written: its twin with the same idempotency key, whose
 * answer it then finds, or a token of the same content, into which it is then folded.
 */
async function retryTaken<T>(isIdempotent: boolean, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (error instanceof UniqueViolation && attempt < TAKEN_ATTEMPTS) continue;
      if (!(error instanceof UniqueViolation || error instanceof LockTimeout)) throw error;
      throw isIdempotent ? stillRunning() : new Fault("conflict", "Others keep changing the same. Try again.");
    }
  }
}

type Met<Output extends DescMessage, B, T> =
  | { readonly kind: "begun"; readonly begun: B }
  | { readonly kind: "resumed"; readonly result: T }
  | { readonly kind: "answered"; readonly replay: Replay<Output> };

async function beginOnce<Output extends DescMessage, B extends { readonly subject: Uuid }, T>(
  output: Output,
  idempotency: Idempotency,
  tx: Transaction,
  operation: EngagedOperation<B, T>,
): Promise<Met<Output, B, T> | Refused> {
  const earlier = await idempotency.find(tx, output);
  if (earlier instanceof Refused) return earlier;
  switch (earlier?.kind) {
    case "answered":
      return earlier;
    case "running":
      return new Refused(stillRunning());
    case "left": {
      const result = await operation.resume(tx, earlier.subject);
      return result instanceof Refused ? result : { kind: "resumed", result };
    }
    case undefined: {
      const begun = await operation.begin(tx);
      if (begun instanceof Refused) return begun;
      idempotency.begin(tx, begun.subject);
      return { kind: "begun", begun };
    }
  }
}

type Answered<Output extends DescMessage> =
  | { readonly kind: "shown"; readonly message: MessageShape<Output> }
  | { readonly kind: "replayed"; readonly replay: Replay<Output> };

/** Carries a request out and stores what is kept of its answer, unless an earlier request with the key was answered. */
async function answerOnce<Output extends DescMessage, T>(
  output: Output,
  { reply }: CallParts,
  idempotency: Idempotency,
  tx: Transaction,
  work: (tx: Transaction) => Promise<T | Refused>,
  show: (result: T) => MessageInitShape<Output>,
): Promise<Answered<Output> | Refused> {
  const earlier = await idempotency.find(tx, output);
  if (earlier instanceof Refused) return earlier;
  if (earlier?.kind === "answered") return { kind: "replayed", replay: earlier.replay };
  const result = await work(tx);
  if (result instanceof Refused) return result;
  const message = create(output, show(result));
  idempotency.store(tx, output, message, reply.isAccepted);
  return { kind: "shown", message };
}

/** The message of a replay, whose transaction is committed. */
export function showReplay<Output extends DescMessage>(
  { reply, onDifferentRepeat }: CallParts,
  replay: Replay<Output>,
): MessageShape<Output> {
  if (replay.differs) onDifferentRepeat();
  if (replay.accepted) reply.accepted();
  reply.replayed();
  return replay.show();
}

function answerOf<T>(result: T | Refused): T {
  if (result instanceof Refused) throw result.fault;
  return result;
}
