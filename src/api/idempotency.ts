import { createHmac } from "node:crypto";
import { type DescMessage, fromBinary, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { Caller } from "../access/caller.js";
import { Fault, invalid } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { lengthPrefixed } from "../crypto/bytes.js";
import { open, seal } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { noteDue } from "../store/due.js";
import {
  completeKey,
  dropExpiredIdempotencyKey,
  findIdempotencyKey,
  type IdempotencyRow,
  insertIdempotencyKey,
  insertKeyInFlight,
} from "../store/idempotency-keys.js";
import type { Transaction } from "../store/transaction.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const MAX_KEY_LENGTH = 255;

/** What a repeated request is told again. */
export interface Replay<Output extends DescMessage> {
  readonly response: MessageShape<Output>;
  readonly accepted: boolean;
  /** It is a repeat with another request. */
  readonly differs: boolean;
}

/** An earlier request with the same key: told again, still at work, or cut off after it had begun. */
export type EarlierOperation<Output extends DescMessage> =
  | { readonly kind: "answered"; readonly replay: Replay<Output> }
  | { readonly kind: "running" }
  | { readonly kind: "left"; readonly subject: Uuid };

/**
 * The answer of a request that carries an idempotency key is stored, sealed, in the transaction of its effect. The same
 * key in the same tenant, application, method and resource is told that answer for a day, whatever it asks for.
 */
export class Idempotency {
  readonly #keys: TenantKeys;
  readonly #caller: Caller;
  readonly #keyHash: Buffer;
  readonly #requestHash: Buffer;

  /** `resource` are the path variables of the request: each resource has keys of its own. */
  constructor(
    key: string,
    caller: Caller,
    keys: TenantKeys,
    method: string,
    resource: readonly string[],
    request: Uint8Array,
  ) {
    if (key.length === 0 || key.length > MAX_KEY_LENGTH) {
      throw invalid("BT-IDEMPOTENCY-KEY", `must have 1 to ${MAX_KEY_LENGTH} characters`);
    }
    this.#keys = keys;
    this.#caller = caller;
    const scope = [caller.application.id, caller.session?.id ?? "", method, ...resource];
    this.#keyHash = createHmac("sha256", keys.proof)
      .update(lengthPrefixed(["cloakroom/idempotency/1", ...scope, key]))
      .digest();
    this.#requestHash = createHmac("sha256", keys.proof)
      .update(lengthPrefixed(["cloakroom/request/1", request]))
      .digest();
  }

  /** The stored answer, if this key has one. */
  async find<Output extends DescMessage>(tx: Transaction, output: Output): Promise<Replay<Output> | undefined> {
    const row = await tx.ask(findIdempotencyKey, this.#keyHash);
    return row?.response ? this.#replay({ ...row, response: row.response }, output) : undefined;
  }

  /** What became of an earlier request with this key whose operation has effects outside. */
  async findOperation<Output extends DescMessage>(
    tx: Transaction,
    output: Output,
  ): Promise<EarlierOperation<Output> | undefined> {
    const row = await tx.ask(findIdempotencyKey, this.#keyHash);
    if (!row) return undefined;
    if (row.response) return { kind: "answered", replay: this.#replay({ ...row, response: row.response }, output) };
    if (row.leased || !row.subject) return { kind: "running" };
    return { kind: "left", subject: row.subject };
  }

  /** Notes, in the transaction that comes before the effects, that an operation is under way. */
  begin(tx: Transaction, subject: Uuid): void {
    tx.tell(dropExpiredIdempotencyKey, this.#keyHash);
    const expiresAt = new Date(tx.now.getTime() + DAY_MS);
    noteDue(tx, { kind: "idempotency_key", at: expiresAt });
    tx.tell(insertKeyInFlight, {
      ...{ key_hash: this.#keyHash, request_hash: this.#requestHash },
      ...{ accepted: false, expires_at: expiresAt, subject },
    });
  }

  /** Stores the answer of an operation that {@link begin} noted. */
  complete(tx: Transaction, output: DescMessage, response: Message): void {
    const sealed = seal(this.#keys.data, this.#place(), toBinary(output, response));
    tx.tell(completeKey, { key_hash: this.#keyHash, response: sealed });
  }

  /** Stores the answer with whatever else the transaction writes. */
  store(tx: Transaction, output: DescMessage, response: Message, accepted: boolean): void {
    tx.tell(dropExpiredIdempotencyKey, this.#keyHash);
    const expiresAt = new Date(tx.now.getTime() + DAY_MS);
    noteDue(tx, { kind: "idempotency_key", at: expiresAt });
    tx.tell(insertIdempotencyKey, {
      key_hash: this.#keyHash,
      request_hash: this.#requestHash,
      accepted,
      response: seal(this.#keys.data, this.#place(), toBinary(output, response)),
      expires_at: expiresAt,
    });
  }

  #replay<Output extends DescMessage>(row: IdempotencyRow, output: Output): Replay<Output> {
    const stored = open(this.#keys.data, this.#place(), row.response);
    return {
      response: fromBinary(output, stored, { recursionLimit: RECURSION_LIMIT }),
      accepted: row.accepted,
      differs: !row.request_hash.equals(this.#requestHash),
    };
  }

  #place() {
    return { tenantId: this.#caller.tenantId, entity: this.#keyHash.toString("hex"), field: "idempotency" };
  }
}

/**
 * A level of JSON takes two messages, a Value and its Struct or ListValue. An answer has 128 levels where a mask of 64 shows
 * data of 64 in its innermost one; and what holds them.
 */
export const RECURSION_LIMIT = 2 * 128 + 16;

/** Two requests with one key met, and the first has not ended. */
export function stillRunning(): Fault {
  return new Fault(
    "idempotency_in_flight",
    "The first request with this idempotency key has not ended yet. Try again shortly.",
    {
      retryAfter: 1,
    },
  );
}
