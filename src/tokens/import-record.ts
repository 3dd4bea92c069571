import { createHmac } from "node:crypto";
import { type Caller, loggedActor } from "../access/caller.js";
import type { CallerTransaction } from "../access/caller-transaction.js";
import { ANY_ENTITY_ID } from "../audit/log-entry.js";
import { DAY_MS } from "../base/clock.js";
import { Fault, invalid } from "../base/fault.js";
import { lengthPrefixed } from "../crypto/bytes.js";
import { macEquals } from "../crypto/keyed-hash.js";
import { sealedBytes } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { scheduleDue } from "../store/jobs/due.js";
import {
  deleteExpiredIdempotencyKey,
  findIdempotencyKey,
  insertIdempotencyKey,
} from "../store/jobs/idempotency-keys.js";

/** Rows of one batch, which are stored in one transaction: as many as a tokenize request has. */
export const BATCH_ROWS = 100;

const KEPT_MS = 30 * DAY_MS;

/** The entity of a stored result is the hash of its key, in hexadecimal, as for responses under idempotency keys. */
const RESULTS = sealedBytes({ field: "idempotency" });

export interface ImportBatch {
  readonly importId: string;
  readonly position: number;
  /** The whole request: a repeat has the same. */
  readonly body: Uint8Array;
}

/**
 * What became of a batch, kept for 30 days in the transaction of its rows: a batch that is sent again after a kill of
 * either side is answered from it. Batches begin at fixed positions, so no row is in two of them.
 */
export class ImportRecord {
  readonly #keys: TenantKeys;
  readonly #key: Buffer;
  readonly #rows: Buffer;
  readonly #application: Buffer;

  /** @throws {Fault} validation_failed naming `position`. */
  constructor(caller: Caller, keys: TenantKeys, { importId, position, body }: ImportBatch) {
    if (position % BATCH_ROWS !== 1) throw invalid("position", "must be 1, 101, 201 and so on");
    const hash = (...parts: readonly (string | Uint8Array)[]) =>
      createHmac("sha256", keys.proof).update(lengthPrefixed(parts)).digest();
    this.#keys = keys;
    this.#application = hash("cloakroom/import-application/1", loggedActor(caller).id);
    this.#key = hash(
      "cloakroom/import/1",
      loggedActor(caller).id,
      caller.session?.id ?? "",
      importId,
      String(position),
    );
    this.#rows = hash("cloakroom/import-rows/1", body);
  }

  /**
   * The results of the batch, if it is stored.
   * @throws {Fault} conflict if other rows are stored at its position.
   */
  async find(tx: CallerTransaction): Promise<Buffer | undefined> {
    const row = await tx.query(findIdempotencyKey, this.#key);
    if (!row?.response) return undefined;
    if (!macEquals(this.#rows, row.request_hash)) {
      throw new Fault(
        "conflict",
        "This import has other rows at this position. Send the rows of its first run, or give another import_id.",
      );
    }
    tx.log("token", ANY_ENTITY_ID, "replay", "import");
    return RESULTS.open(this.#keys, { id: this.#key.toString("hex") }, row.response);
  }

  /** Keeps the results with whatever else the transaction writes. Fails if another request has stored the batch. */
  store(tx: CallerTransaction, results: Uint8Array): void {
    const expiresAt = new Date(tx.now.getTime() + KEPT_MS);
    tx.enqueue(deleteExpiredIdempotencyKey, this.#key);
    scheduleDue(tx, { kind: "idempotency_key", at: expiresAt });
    tx.enqueue(insertIdempotencyKey, {
      key_hash: this.#key,
      request_hash: this.#rows,
      accepted: false,
      response: RESULTS.seal(this.#keys, { id: this.#key.toString("hex") }, results),
      expires_at: expiresAt,
      maker: this.#application,
    });
  }
}
