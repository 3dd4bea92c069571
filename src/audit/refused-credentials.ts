import type { Clock } from "../base/clock.js";
import { Fault, type FaultCode } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { truncatedMac } from "../crypto/keyed-hash.js";
import { readTenant } from "../store/tenancy/tenants.js";
import type { AuditContext } from "./audit-context.js";
import { ANY_ENTITY_ID } from "./log-entry.js";
import { RefusalMinute } from "./refusal-caps.js";
import { openTenant, type TenantParts } from "./tenant-database.js";

/** A key, a link or a cookie of a sign-in that is well-formed and was refused. */
export interface RefusedCredential {
  /** By the credential's text, which anybody can make up. */
  readonly tenantId: TenantId;
  /** SHA-256 of the text. */
  readonly hash: Buffer;
  readonly context: AuditContext;
  /** What the key would be of, if it is not what the parts say. */
  readonly entityType?: "proxy";
  /** Default: unauthenticated. */
  readonly code?: FaultCode;
  /** Fixed words. Default: not valid. */
  readonly remark?: string;
}

export interface RefusedCredentialsParts extends TenantParts {
  readonly clock: Clock;
  /** What rows and summaries are about. */
  readonly entityType: "application_key" | "sign_in";
  /** Called for each refusal that will have no row: the queue was full, or it could not be written. */
  readonly onLost: () => void;
  /** Called for each refusal with the key of a tenant that does not exist. */
  readonly onUnknown?: () => void;
}

/** Time between a refusal and its row, in milliseconds. */
const WRITE_AFTER_MS = 1_000;
/** Tenants that a minute counts. Made-up keys may name any number of tenants. */
const MAX_TENANTS = 10_000;
const MAX_QUEUED = 5_000;
const AT_ONCE = 4;
/** How often rows are tried to be written, a second apart. */
const TRIES = 30;

interface Queued {
  readonly rows: readonly QueuedRow[];
  readonly failures: number;
}

type QueuedRow =
  | { readonly kind: "one"; readonly refused: RefusedCredential }
  | { readonly kind: "further"; readonly summary: string };

/**
 * Writes a log row for each refused credential, off the request's path: the time of a response must not tell whether the
 * tenant exists. At most 60 rows a minute of a tenant and 10 of a source; one more says how many there were beyond. A
 * crash loses the rows of the last second and the counts of the current minute.
 */
export class RefusedCredentials {
  readonly #parts: RefusedCredentialsParts;
  readonly #minutes = new Map<TenantId, RefusalMinute>();
  readonly #queued = new Map<TenantId, Queued>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: RefusedCredentialsParts) {
    this.#parts = parts;
  }

  /** Notes a refusal. Takes the same time for every tenant. */
  note(refused: RefusedCredential): void {
    const { tenantId, context } = refused;
    const now = this.#parts.clock.now();
    let minute = this.#minutes.get(tenantId);
    if (minute?.isOver(now)) {
      this.#summarize(tenantId, minute);
      minute = undefined;
    }
    if (!minute) {
      if (this.#minutes.size >= MAX_TENANTS) {
        this.#parts.onLost();
        return;
      }
      minute = new RefusalMinute(now);
      this.#minutes.set(tenantId, minute);
    }
    if (minute.count(context.address, now)) this.#enqueue(tenantId, { kind: "one", refused });
    this.#writeLater();
  }

  /** Writes everything that was noted, counts of the current minute included. */
  async settle(): Promise<void> {
    clearTimeout(this.#timer);
    for (const [tenantId, minute] of this.#minutes) this.#summarize(tenantId, minute);
    await this.#writing;
    await this.#write();
  }

  #summarize(tenantId: TenantId, { summary }: RefusalMinute): void {
    this.#minutes.delete(tenantId);
    if (summary !== undefined) this.#enqueue(tenantId, { kind: "further", summary });
  }

  #enqueue(tenantId: TenantId, row: QueuedRow): void {
    if (this.#count >= MAX_QUEUED) {
      this.#parts.onLost();
      return;
    }
    this.#count += 1;
    const { rows, failures } = this.#queued.get(tenantId) ?? { rows: [], failures: 0 };
    this.#queued.set(tenantId, { rows: [...rows, row], failures });
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const now = this.#parts.clock.now();
      for (const [tenantId, minute] of this.#minutes) if (minute.isOver(now)) this.#summarize(tenantId, minute);
      this.#writing = this.#writing.then(() => this.#write());
      if (this.#minutes.size > 0 || this.#count > 0) this.#writeLater();
    }, WRITE_AFTER_MS).unref();
  }

  async #write(): Promise<void> {
    const batches = [...this.#queued];
    this.#queued.clear();
    this.#count = 0;
    for (let from = 0; from < batches.length; from += AT_ONCE) {
      const some = batches.slice(from, from + AT_ONCE);
      await Promise.all(some.map(([tenantId, queued]) => this.#writeRows(tenantId, queued)));
    }
  }

  async #writeRows(tenantId: TenantId, { rows, failures }: Queued): Promise<void> {
    const { onLost } = this.#parts;
    try {
      const tenant = await openTenant(this.#parts, tenantId);
      const isKnown = await tenant.shared(async (tx) => {
        // The tenant may have been deleted while its keys were known.
        if (!(await tx.query(readTenant, tenantId))) return false;
        for (const row of rows) {
          if (row.kind === "further") {
            const details = { remark: row.summary, outcome: "denied", code: "unauthenticated" } as const;
            tx.log(this.#parts.entityType, ANY_ENTITY_ID, "refuse", details);
          } else {
            const { hash, context, entityType = this.#parts.entityType } = row.refused;
            const { code = "unauthenticated", remark = "not valid" } = row.refused;
            // Shows one guess repeated, and nothing of the key.
            const id = truncatedMac(tx.keys.proof, ["cloakroom/refused-key/1", hash]).toString("hex", 0, 8);
            const details = { remark, outcome: "denied", code, context } as const;
            tx.log(entityType, id, "refuse", details);
          }
        }
        return true;
      });
      if (!isKnown) this.#forget(tenantId, rows);
    } catch (error) {
      if (error instanceof Fault && error.code === "unauthenticated") return this.#forget(tenantId, rows);
      if (failures + 1 >= TRIES || this.#count + rows.length > MAX_QUEUED) {
        for (const _ of rows) onLost();
        return;
      }
      const later = this.#queued.get(tenantId)?.rows ?? [];
      this.#queued.set(tenantId, { rows: [...rows, ...later], failures: failures + 1 });
      this.#count += rows.length;
      this.#writeLater();
    }
  }
  /** There is no such tenant. It must not take the place of one that exists. */
  #forget(tenantId: TenantId, rows: readonly QueuedRow[]): void {
    this.#minutes.delete(tenantId);
    for (const _ of rows) this.#parts.onUnknown?.();
  }
}
