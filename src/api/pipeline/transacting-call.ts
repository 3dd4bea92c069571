import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { Caller } from "../../access/caller.js";
import { asCaller } from "../../access/caller-database.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../../access/caller-transaction.js";
import { doneOnce } from "../../access/fresh-rights.js";
import { asServer, type TenantDatabase } from "../../audit/tenant-database.js";
import { takeTurn } from "../../base/caller-turns.js";
import { Fault } from "../../base/fault.js";
import type { TenantId, Uuid } from "../../base/ids.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { RequestMemory } from "../../memory/request-memory.js";
import type { Visit } from "../../people/visit.js";
import type { Call, ExternalOperation, Reply } from "../../services/call.js";
import type { Database } from "../../store/database.js";
import { readKeysLocked } from "../../store/jobs/idempotency-keys.js";
import { LockTimeout, UniqueViolation } from "../../store/postgres/database-error.js";
import type { Work } from "../../store/transactions/transaction.js";
import type { RequestAudit } from "../request/request-head.js";
import { type Idempotency, type Replay, requestInFlight } from "./idempotency.js";
import type { RunningCall } from "./running-call.js";

/** A class, because the hot path would make a dozen functions for each request. */
export class TransactingCall<Output extends DescMessage> implements Call<Output> {
  readonly #output: Output;
  readonly #parts: RunningCall;

  constructor(output: Output, parts: RunningCall) {
    this.#output = output;
    this.#parts = parts;
  }

  get reply(): Reply {
    return this.#parts.reply;
  }

  get caller(): Caller {
    return this.#parts.caller ?? withoutKey();
  }

  get keys(): TenantKeys {
    return this.#parts.keys ?? withoutKey();
  }

  get apiKey(): string | undefined {
    return this.#parts.head.header("bt-api-key");
  }

  get visit(): Visit {
    const { visit } = this.#parts.head;
    if (!visit)
      throw new Fault("unauthenticated", "This operation is for people who are signed in; an API key cannot call it.");
    return visit;
  }

  /** It is made when a handler asks for it. */
  get signal(): AbortSignal {
    return this.#parts.head.signal;
  }

  get memory(): RequestMemory {
    return this.#parts.head.memory;
  }

  get audit(): RequestAudit {
    return this.#parts.head.audit;
  }

  transact<T>(work: Work<T, OrdinaryCallerTransaction>, show: Show<Output, T>, showLasting = show) {
    return this.#transactIn((own) => this.#begin().ordinary(own), work, show, showLasting);
  }

  transactShared<T>(work: Work<T, CallerTransaction>, show: Show<Output, T>, showLasting = show) {
    return this.#transactIn((own) => this.#begin().shared(own), work, show, showLasting);
  }

  commit<T>(work: Work<T, OrdinaryCallerTransaction>): Promise<T> {
    return this.#inTurn(this.#begin().ordinary(work));
  }

  commitShared<T>(work: Work<T, CallerTransaction>): Promise<T> {
    return this.#inTurn(this.#begin().shared(work));
  }

  async list<T>(
    work: Work<T, OrdinaryCallerTransaction>,
    show: (result: T, caller: Caller) => MessageInitShape<Output> | Promise<MessageInitShape<Output>>,
  ): Promise<MessageInitShape<Output>> {
    return show(await this.#inTurn(this.#begin().bulk(work)), this.caller);
  }

  /** Begins an operation in one transaction, and acts on the world after its commit. A repeat resumes what was begun. */
  async operate<B extends { readonly subject: Uuid }, T>(
    operation: ExternalOperation<B, T>,
    show: Show<Output, T>,
  ): Promise<MessageInitShape<Output>> {
    const database = this.#begin();
    const idempotency = this.#parts.takeIdempotency();
    if (!idempotency) {
      const begun = await database.ordinary((tx) => operation.begin(tx));
      return show(await doneOnce(() => operation.carryOut(begun)), this.caller);
    }
    const started = await withoutContention(this.#parts.database, this.caller.tenantId, () =>
      database.ordinary((tx) => beginOnce(this.#output, idempotency, tx, operation)),
    );
    if (started.kind === "completed") return showReplay(this.#parts, started.replay);
    if (started.kind === "resumed") this.#parts.reply.isReplayed = true;
    const result = started.kind === "begun" ? await doneOnce(() => operation.carryOut(started.begun)) : started.result;
    const shown = create(this.#output, show(result, this.caller));
    // The effect has happened, whatever became of the caller's rights.
    const own = asServer(this.#parts.database, this.keys);
    await own.ordinary(async (tx) => idempotency.complete(tx, this.#output, shown));
    return show(result, this.caller);
  }

  /** For one transaction. */
  #begin(): TenantDatabase<CallerTransaction, OrdinaryCallerTransaction> {
    this.#parts.hasTransaction = true;
    return asCaller(this.#parts.database, this.keys, this.caller, this.memory);
  }

  /** The results of up to a hundred requests arrive at once. */
  async #inTurn<T>(committed: Promise<T>): Promise<T> {
    const result = await committed;
    const turn = takeTurn();
    if (turn) await turn;
    return result;
  }

  /** Runs work under the caller's rights, and shows its result. */
  async #transactIn<T, Tx extends CallerTransaction>(
    transaction: RunTransaction<Tx>,
    work: Work<T, Tx>,
    show: Show<Output, T>,
    showLasting: Show<Output, T>,
  ): Promise<MessageInitShape<Output>> {
    const idempotency = this.#parts.takeIdempotency();
    if (idempotency) {
      const outcome = await withoutContention(this.#parts.database, this.caller.tenantId, () =>
        transaction((tx) => this.#runOnce(idempotency, tx, async () => show(await work(tx), this.caller))),
      );
      return outcome.kind === "shown" ? outcome.message : showReplay(this.#parts, outcome.replay);
    }
    const result = await this.#inTurn(transaction(work));
    this.#parts.reply.lasting = () => create(this.#output, showLasting(result, this.caller));
    return show(result, this.caller);
  }

  /**
   * Carries a request out and stores what is kept of its response, unless an earlier request with the key has completed.
   * It can be neither running nor interrupted: only {@link beginOnce} stores a key without a response, and the hash of a
   * key includes the method, which uses one of both.
   */
  async #runOnce(
    idempotency: Idempotency,
    tx: CallerTransaction,
    respond: () => Promise<MessageInitShape<Output>>,
  ): Promise<OnceResult<Output>> {
    const earlier = await idempotency.find(tx, this.#output);
    if (earlier?.kind === "completed") return { kind: "replayed", replay: earlier.replay };
    const message = create(this.#output, await respond());
    idempotency.store(tx, this.#output, message, this.#parts.reply.isAccepted);
    return { kind: "shown", message };
  }
}

type RunTransaction<Tx> = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

function withoutKey(): never {
  throw new Fault("unauthenticated", "Send an application key in the header BT-API-KEY.");
}

type Show<Output extends DescMessage, T> = (result: T, caller: Caller) => MessageInitShape<Output>;

/**
 * Runs the transaction of a request with an idempotency key. Contention for the key becomes an error for callers.
 * @throws {Fault} idempotency_in_flight if the key's row stayed locked by another request, or another request stored it at
 * each attempt; unavailable if the whole table is locked instead, by an operator.
 */
async function withoutContention<T>(database: Database, tenantId: TenantId, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isContention = error instanceof UniqueViolation || error instanceof LockTimeout;
    if (!isContention || error.table !== "idempotency_keys") throw error;
    const isTableLocked =
      error instanceof LockTimeout && (await database.of(tenantId).shared((tx) => tx.query(readKeysLocked, "all")));
    throw isTableLocked ? error : requestInFlight();
  }
}

type Met<Output extends DescMessage, B, T> =
  | { readonly kind: "begun"; readonly begun: B }
  | { readonly kind: "resumed"; readonly result: T }
  | { readonly kind: "completed"; readonly replay: Replay<Output> };

async function beginOnce<Output extends DescMessage, B extends { readonly subject: Uuid }, T>(
  output: Output,
  idempotency: Idempotency,
  tx: OrdinaryCallerTransaction,
  operation: ExternalOperation<B, T>,
): Promise<Met<Output, B, T>> {
  const earlier = await idempotency.find(tx, output);
  switch (earlier?.kind) {
    case "completed":
      return earlier;
    case "running":
      throw requestInFlight();
    case "interrupted": {
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

type OnceResult<Output extends DescMessage> =
  | { readonly kind: "shown"; readonly message: MessageShape<Output> }
  | { readonly kind: "replayed"; readonly replay: Replay<Output> };

/** The message of a replay, whose transaction is committed. */
export function showReplay<Output extends DescMessage>(
  parts: RunningCall,
  replay: Replay<Output>,
): MessageShape<Output> {
  if (replay.differs) parts.warnOfDifferentRepeat();
  if (replay.accepted) parts.reply.accepted();
  parts.reply.isReplayed = true;
  return replay.show();
}
