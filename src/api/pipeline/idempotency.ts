import { createHmac } from "node:crypto";
import { type DescMessage, fromBinary, isMessage, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Caller, loggedActor } from "../../access/caller.js";
import type { CallerTransaction } from "../../access/caller-transaction.js";
import { DAY_MS } from "../../base/clock.js";
import { Fault } from "../../base/fault.js";
import type { Uuid } from "../../base/ids.js";
import { lengthPrefixed } from "../../crypto/bytes.js";
import { macEquals } from "../../crypto/keyed-hash.js";
import { sealedBytes } from "../../crypto/sealed-record.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { ServedReplay } from "../../services/replay.js";
import { scheduleDue } from "../../store/jobs/due.js";
import {
  completeKey,
  deleteExpiredIdempotencyKey,
  findIdempotencyKey,
  type IdempotencyRow,
  insertIdempotencyKey,
  insertKeyInFlight,
} from "../../store/jobs/idempotency-keys.js";
import type { Transaction } from "../../store/transactions/transaction.js";
import { RECURSION_LIMIT } from "../messages/message-structure.js";
import { hasPublicKey, requireIdempotencyKey } from "./idempotency-key.js";

/** The entity of a stored response is the hash of its key, in hexadecimal. */
const RESPONSE = sealedBytes({ field: "idempotency" });

/** The response to a repeated request, to be shown once its transaction is committed. */
export interface Replay<Output extends DescMessage> {
  readonly accepted: boolean;
  /** It is a repeat with another request. */
  readonly differs: boolean;
  show(): MessageShape<Output>;
}

/** An earlier request with the same key: completed, still at work, or interrupted after it had begun. */
export type EarlierRequest<Output extends DescMessage> =
  | { readonly kind: "completed"; readonly replay: Replay<Output> }
  | { readonly kind: "running" }
  | { readonly kind: "interrupted"; readonly subject: Uuid };

export interface KeyedRequest {
  readonly key: string;
  readonly method: string;
  /** The path variables: each resource has keys of its own. */
  readonly resource: readonly string[];
  readonly body: Uint8Array;
  readonly rule: ServedReplay;
}

/**
 * Stores the part of a response that a method keeps for an idempotency key, sealed, in the transaction of the effect.
 * For a day, the same key in the same tenant, application, method and resource is answered from it by the method's
 * rule, even if the request differs.
 */
export class Idempotency {
  readonly #keys: TenantKeys;
  readonly #caller: Caller;
  readonly #resource: readonly string[];
  readonly #rule: ServedReplay;
  readonly #keyHash: Buffer;
  readonly #requestHash: Buffer;
  /** A keyed hash of the request's author, bound to its idempotency key: no other party can compute it. */
  readonly #maker: Buffer;

  constructor({ key, method, resource, body, rule }: KeyedRequest, caller: Caller, keys: TenantKeys) {
    requireIdempotencyKey(key, caller);
    this.#keys = keys;
    this.#caller = caller;
    this.#resource = resource;
    this.#rule = rule;
    // A page knows the idempotency keys of its frames, and may hold their key: replays belong to the pass.
    const scope = [loggedActor(caller).id, caller.session?.id ?? "", caller.frame?.pass ?? "", method, ...resource];
    this.#keyHash = createHmac("sha256", keys.proof)
      .update(lengthPrefixed(["cloakroom/idempotency/1", ...scope, key]))
      .digest();
    this.#requestHash = createHmac("sha256", keys.proof)
      .update(lengthPrefixed(["cloakroom/request/1", body]))
      .digest();
    this.#maker = createHmac("sha256", keys.proof)
      .update(lengthPrefixed(["cloakroom/idempotency-maker/1", this.#keyHash, makerOf(caller)]))
      .digest();
  }

  /**
   * The result of an earlier request with this key. Checks a response against the caller's current rights, and writes
   * its log row.
   */
  async find<Output extends DescMessage>(
    tx: CallerTransaction,
    output: Output,
  ): Promise<EarlierRequest<Output> | undefined> {
    const row = await tx.query(findIdempotencyKey, this.#keyHash);
    if (!row) return undefined;
    if (row.response) {
      const replay = await this.#replay(tx, { ...row, response: row.response }, output);
      return { kind: "completed", replay };
    }
    // `begin()` always stores a subject, so the second test is only for the type.
    if (row.leased || !row.subject) return { kind: "running" };
    return { kind: "interrupted", subject: row.subject };
  }

  /** Notes, in the transaction that comes before the effects, that an operation is under way. */
  begin(tx: Transaction, subject: Uuid): void {
    tx.enqueue(deleteExpiredIdempotencyKey, this.#keyHash);
    const expiresAt = new Date(tx.now.getTime() + DAY_MS);
    scheduleDue(tx, { kind: "idempotency_key", at: expiresAt });
    tx.enqueue(insertKeyInFlight, {
      key_hash: this.#keyHash,
      request_hash: this.#requestHash,
      maker: this.#maker,
      accepted: false,
      expires_at: expiresAt,
      subject,
    });
  }

  /** Stores the response of an operation that {@link begin} noted. */
  complete(tx: Transaction, output: DescMessage, response: Message): void {
    tx.enqueue(completeKey, { key_hash: this.#keyHash, response: this.#seal(output, response) });
  }

  store(tx: Transaction, output: DescMessage, response: Message, accepted: boolean): void {
    tx.enqueue(deleteExpiredIdempotencyKey, this.#keyHash);
    const expiresAt = new Date(tx.now.getTime() + DAY_MS);
    scheduleDue(tx, { kind: "idempotency_key", at: expiresAt });
    tx.enqueue(insertIdempotencyKey, {
      key_hash: this.#keyHash,
      request_hash: this.#requestHash,
      accepted,
      response: this.#seal(output, response),
      expires_at: expiresAt,
      maker: this.#maker,
    });
  }

  async #replay<Output extends DescMessage>(
    tx: CallerTransaction,
    row: IdempotencyRow,
    output: Output,
  ): Promise<Replay<Output>> {
    const stored = RESPONSE.open(this.#keys, { id: this.#keyHash.toString("hex") }, row.response);
    const kept = fromBinary(output, stored, { recursionLimit: RECURSION_LIMIT });
    const hasSameKey = macEquals(this.#maker, row.maker);
    const showsIdsOnly = hasPublicKey(this.#caller);
    const context = { tx, resource: this.#resource, hasSameKey, showsIdsOnly };
    const show = await this.#rule.replay(context, kept);
    return {
      accepted: row.accepted,
      differs: !row.request_hash.equals(this.#requestHash),
      show() {
        const shown = show();
        if (!isMessage(shown, output)) throw new Error(`a replay gave another message than ${output.typeName}`);
        return shown;
      },
    };
  }

  #seal(output: DescMessage, response: Message): Buffer {
    return RESPONSE.seal(
      this.#keys,
      { id: this.#keyHash.toString("hex") },
      toBinary(output, this.#rule.keep(response)),
    );
  }
}

/** The caller's key, session or sign-in: each counts as a separate author. */
function makerOf({ principal, session, keyId }: Caller): string {
  if (principal.kind === "person") return principal.signInId;
  return session?.id ?? keyId ?? "";
}

/** Two requests with one key met, and the first has not ended. */
export function requestInFlight(): Fault {
  return new Fault(
    "idempotency_in_flight",
    "The first request with this idempotency key has not ended yet. Try again shortly.",
    {
      retryAfter: 1,
    },
  );
}
