import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Caller } from "../../access/caller.js";
import { Fault } from "../../base/fault.js";
import type { TenantId, Uuid } from "../../base/ids.js";
import type { Visit } from "../../people/visit.js";
import type { Call, ExternalOperation, Reply } from "../../services/call.js";
import type { Database, Transactions } from "../../store/database.js";
import { readKeysLocked } from "../../store/jobs/idempotency-keys.js";
import { LockTimeout, UniqueViolation } from "../../store/postgres/database-error.js";
import type { OrdinaryTransaction, Transaction, Work } from "../../store/transactions/transaction.js";
import type { RequestHead } from "../request/request-head.js";
import { type Idempotency, type Replay, requestInFlight } from "./idempotency.js";

/** The parts of a call after its request was admitted and read. */
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
  /** The request's idempotency state, returned once: the taker looks up the result of an earlier request. */
  takeIdempotency(): Idempotency | undefined;
  /** Called when a repeat brought another request. */
  onDifferentRepeat(): void;
}

export function transactingCall<Output extends DescMessage>(output: Output, parts: CallParts): Call<Output> {
  const { database } = parts;
  const caller = () => callerOf(parts);
  /** Runs work under the caller's rights, and shows its result. */
  const transactIn =
    <Tx extends Transaction>(kind: Transactions<Tx>): Transact<Output, Tx> =>
    async (work, show, showLasting = show) => {
      const { tenantId, revision } = caller();
      const idempotency = parts.takeIdempotency();
      if (idempotency) {
        const outcome = await onceOnly(database, tenantId, () =>
          kind.run(tenantId, revision, (tx) => answerOnce(output, parts, idempotency, tx, work, show)),
        );
        return outcome.kind === "shown" ? outcome.message : showReplay(parts, outcome.replay);
      }
      const result = await kind.run(tenantId, revision, work);
      parts.reply.keepAs(() => create(output, showLasting(result)));
      return show(result);
    };
  const commitIn =
    <Tx extends Transaction>(kind: Transactions<Tx>) =>
    async <T>(work: Work<T, Tx>): Promise<T> => {
      const { tenantId, revision } = caller();
      return kind.run(tenantId, revision, work);
    };
  return {
    traceId: parts.head.traceId,
    reply: parts.reply,
    hasCaller: parts.caller !== undefined,
    get apiKey() {
      return parts.head.header("bt-api-key");
    },
    get visit() {
      return visitOf(parts.head);
    },
    // Not read before a handler asks: it is made only then.
    get signal() {
      return parts.head.signal;
    },
    get memory() {
      return parts.head.memory;
    },
    get audit() {
      return parts.head.audit;
    },
    get caller() {
      return caller();
    },
    transact: transactIn(database.ordinary),
    transactShared: transactIn(database.shared),
    commit: commitIn(database.ordinary),
    commitShared: commitIn(database.shared),
    engage: engaging(output, parts, caller),
    async list(work, show) {
      return show(await commitIn(database.bulk)(work));
    },
  };
}

function callerOf({ caller }: CallParts): Caller {
  if (!caller) throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
  return caller;
}

function visitOf({ visit }: RequestHead): Visit {
  if (!visit)
    throw new Fault("unauthenticated", "This operation is for people in a browser; an API key cannot call it.");
  return visit;
}

/** Begins an operation in one transaction, and acts on the world after its commit. A repeat resumes what was begun. */
function engaging<Output extends DescMessage>(
  output: Output,
  parts: CallParts,
  caller: () => Caller,
): Call<Output>["engage"] {
  const { ordinary } = parts.database;
  return async (operation, show) => {
    const { tenantId, revision } = caller();
    const idempotency = parts.takeIdempotency();
    if (!idempotency) {
      const begun = await ordinary.run(tenantId, revision, (tx) => operation.begin(tx));
      return show(await operation.act(begun));
    }
    const met = await onceOnly(parts.database, tenantId, () =>
      ordinary.run(tenantId, revision, (tx) => beginOnce(output, idempotency, tx, operation)),
    );
    if (met.kind === "answered") return showReplay(parts, met.replay);
    if (met.kind === "resumed") parts.reply.replayed();
    const result = met.kind === "begun" ? await operation.act(met.begun) : met.result;
    const shown = create(output, show(result));
    await ordinary.run(tenantId, "unguarded", async (tx) => idempotency.complete(tx, output, shown));
    return show(result);
  };
}

type Transact<Output extends DescMessage, Tx extends Transaction> = <T>(
  work: Work<T, Tx>,
  show: (result: T) => MessageInitShape<Output>,
  showLasting?: (result: T) => MessageInitShape<Output>,
) => Promise<MessageInitShape<Output>>;

/**
 * Runs the transaction of a request with an idempotency key. Another request with the same key that has not ended holds the
 * key's row, or takes it each time.
 * @throws {Fault} idempotency_in_flight then; unavailable if the whole table is locked instead, by an operator.
 */
async function onceOnly<T>({ shared }: Database, tenantId: TenantId, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isContention = error instanceof UniqueViolation || error instanceof LockTimeout;
    if (!isContention || error.table !== "idempotency_keys") throw error;
    const isTableLocked =
      error instanceof LockTimeout &&
      (await shared.run(tenantId, "unguarded", (tx) => tx.query(readKeysLocked, "all")));
    throw isTableLocked ? error : requestInFlight();
  }
}

type Met<Output extends DescMessage, B, T> =
  | { readonly kind: "begun"; readonly begun: B }
  | { readonly kind: "resumed"; readonly result: T }
  | { readonly kind: "answered"; readonly replay: Replay<Output> };

async function beginOnce<Output extends DescMessage, B extends { readonly subject: Uuid }, T>(
  output: Output,
  idempotency: Idempotency,
  tx: OrdinaryTransaction,
  operation: ExternalOperation<B, T>,
): Promise<Met<Output, B, T>> {
  const earlier = await idempotency.find(tx, output);
  switch (earlier?.kind) {
    case "answered":
      return earlier;
    case "running":
      throw requestInFlight();
    case "left": {
      const result = await operation.resume(tx, earlier.subject);
      return { kind: "resumed", result };
    }
    case undefined: {
      const begun = await operation.begin(tx);
      idempotency.begin(tx, begun.subject);
      return { kind: "begun", begun };
    }
  }
}

type Answered<Output extends DescMessage> =
  | { readonly kind: "shown"; readonly message: MessageShape<Output> }
  | { readonly kind: "replayed"; readonly replay: Replay<Output> };

/** Carries a request out and stores what is kept of its answer, unless an earlier request with the key was answered. */
async function answerOnce<Output extends DescMessage, T, Tx extends Transaction>(
  output: Output,
  { reply }: CallParts,
  idempotency: Idempotency,
  tx: Tx,
  work: Work<T, Tx>,
  show: (result: T) => MessageInitShape<Output>,
): Promise<Answered<Output>> {
  const earlier = await idempotency.find(tx, output);
  if (earlier?.kind === "answered") return { kind: "replayed", replay: earlier.replay };
  const result = await work(tx);
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
