import { LRUCache } from "lru-cache";
import { openTenant, type ServedTenant } from "../audit/tenant-database.js";
import type { TenantId, Uuid } from "../base/ids.js";
import { lruEntries } from "../base/lru-entries.js";
import { Semaphore } from "../base/semaphore.js";
import { KeyVersionUnknown, SealBroken } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { Database } from "../store/database.js";
import { scheduleDue } from "../store/jobs/due.js";
import { deleteWebhookDeliveries, failWaiting, listEndedWebhooks } from "../store/jobs/ended-webhooks.js";
import {
  type AttemptEnd,
  type Claimed,
  claimDeliveries,
  type DeliveryClaim,
  type DeliveryPosition,
  type DeliveryRow,
  endAttempt,
  listWebhooksDue,
  releaseDelivery,
} from "../store/jobs/webhook-deliveries.js";
import { lockWebhook, readWebhook } from "../store/jobs/webhooks.js";
import type { Transaction } from "../store/transactions/transaction.js";
import type { Keyring } from "../tenancy/keyring.js";
import { type AttemptParts, type AttemptResult, attemptDelivery } from "./attempt.js";
import { disableWebhook, hasOnlyFailed } from "./disable.js";
import { attemptDelay } from "./retry-delay.js";
import { openWebhook, type Webhook } from "./webhook.js";
import { DISABLED } from "./webhooks.js";

export interface DeliveryQueueParts extends AttemptParts {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly onFailure: (tenantId: TenantId, error: unknown) => void;
}

/** Longer than an attempt of 10 s and its transactions, or another replica would send the event too. */
export const LEASE_SECONDS = 60;
const AT_ONCE = 16;
/** Webhooks that a replica sends to at a time, and of those that were late or failed at the last attempt. */
const QUICK_WEBHOOKS = 32;
const DOUBTFUL_WEBHOOKS = 64;
/** An address that takes longer than this waits among those that fail: it must not hold a place of quick ones. */
const LATE_MS = 2_000;
/** The longest rest of an address that fails, although an event of it may be due: one attempt each time. */
const MAX_REST_MS = 10 * 60_000;

/** The rest after a search through thousands of events that found none to send. */
const LONG_REST_MS = 10_000;
/** Webhooks that are disabled or gone, and whose events a replica ends at a time. */
const ENDED_WEBHOOKS = 2;

/** What this replica has seen of a webhook's address. Absent: nothing bad. */
interface Doubt {
  /** Consecutive batches in which all attempts failed. 0: it is only late. */
  readonly failures: number;
  readonly restUntil: number;
}

interface Batch {
  readonly webhook: Webhook;
  readonly rows: readonly DeliveryRow[];
}

interface Ended {
  readonly row: DeliveryRow;
  readonly result: AttemptResult | "interrupted";
}

/**
 * Sends events to webhooks: each at least once, those of one entity in order, and those of one address apart from all
 * others. Deliveries are leased: another replica sends those of a replica that died. It claims and settles in bulk
 * transactions, which do not queue behind the tenant's own writes: beside 64 writers ordinary ones delivered 13 % of the
 * events, and bulk ones 99 % (45 s, two cores).
 */
export class DeliveryQueue {
  readonly #parts: DeliveryQueueParts;
  readonly #working = new Map<string, Promise<void>>();
  readonly #doubts = new LRUCache<string, Doubt>(lruEntries(10_000));
  readonly #quick = new Semaphore(QUICK_WEBHOOKS, Number.POSITIVE_INFINITY);
  readonly #doubtful = new Semaphore(DOUBTFUL_WEBHOOKS, Number.POSITIVE_INFINITY);
  readonly #ended = new Semaphore(ENDED_WEBHOOKS, Number.POSITIVE_INFINITY);
  readonly #stopping = new AbortController();

  constructor(parts: DeliveryQueueParts) {
    this.#parts = parts;
  }

  /** Sends an event that a caller waits for, also to an address that rests after failures. */
  sendNow(tenantId: TenantId, webhookId: Uuid): void {
    const name = `${tenantId} ${webhookId}`;
    const doubt = this.#doubts.get(name);
    if (doubt) this.#doubts.set(name, { ...doubt, restUntil: 0 });
    this.#wakeWebhook(tenantId, webhookId);
  }

  /**
   * Starts to send what is due of a tenant, and to end what is left of webhooks that were disabled or deleted, unless it is
   * in progress.
   */
  wake(tenantId: TenantId): void {
    this.#start(tenantId, tenantId, async () => {
      const [due, ended] = await this.#parts.database
        .of(tenantId)
        .bulk((tx) => Promise.all([tx.query(listWebhooksDue, "due"), tx.query(listEndedWebhooks, "ended")]));
      for (const { webhook_id: id } of due) this.#wakeWebhook(tenantId, id);
      for (const { webhook_id: id } of ended) {
        this.#start(tenantId, `${tenantId} ${id}`, () => this.#ended.run(() => this.#end(tenantId, id)));
      }
    });
  }

  /** Cancels attempts under way, which are made again later, here or elsewhere. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    while (this.#working.size > 0) await Promise.all(this.#working.values());
  }

  #wakeWebhook(tenantId: TenantId, id: Uuid): void {
    const doubt = this.#doubts.get(`${tenantId} ${id}`);
    if (doubt && performance.now() < doubt.restUntil) return;
    this.#start(tenantId, `${tenantId} ${id}`, () => {
      const places = doubt ? this.#doubtful : this.#quick;
      return places.run(() => this.#send(tenantId, id));
    });
  }

  #start(tenantId: TenantId, name: string, work: () => Promise<void>): void {
    if (this.#stopping.signal.aborted || this.#working.has(name)) return;
    const running = work()
      .catch((error: unknown) => this.#parts.onFailure(tenantId, error))
      .finally(() => this.#working.delete(name));
    this.#working.set(name, running);
  }

  /** Sends batches until nothing is due, or the address fails or is late: it then gives its place to another. */
  async #send(tenantId: TenantId, id: Uuid): Promise<void> {
    const name = `${tenantId} ${id}`;
    let after: DeliveryPosition | null = null;
    // Both since the claim that began at the first event.
    let hasSent = false;
    let isLong = false;
    while (!this.#stopping.signal.aborted) {
      const doubt = this.#doubts.get(name);
      const tenant = await openTenant(this.#parts, tenantId);
      const { webhook, rows, next } = await claim(tenant, id, { limit: doubt?.failures ? 1 : AT_ONCE, after });
      if (!webhook) return;
      if (rows.length > 0 && (await this.#sendBatch(name, tenant, { webhook, rows }))) return;
      hasSent ||= rows.length > 0;
      isLong ||= next !== null;
      if (next === null && !hasSent) {
        // Thousands wait for others of their entities: it would read them again every two seconds.
        if (isLong)
          this.#doubts.set(name, { failures: doubt?.failures ?? 0, restUntil: performance.now() + LONG_REST_MS });
        return;
      }
      after = next;
      if (next !== null) continue;
      hasSent = false;
      isLong = false;
    }
  }

  /** Returns what is bad of the address. */
  async #sendBatch(name: string, tenant: ServedTenant, { webhook, rows }: Batch): Promise<Doubt | undefined> {
    const since = performance.now();
    const ends = await this.#attemptAll(tenant.keys, webhook, rows);
    await settle(tenant, webhook, ends);
    const doubt = this.#judge(name, ends, performance.now() - since);
    if (doubt) this.#doubts.set(name, doubt);
    else this.#doubts.delete(name);
    return doubt;
  }

  /** In ordinary transactions of 10,000 events: the lock keeps the webhook from being enabled meanwhile. */
  async #end(tenantId: TenantId, id: Uuid): Promise<void> {
    let isLeft = true;
    while (isLeft && !this.#stopping.signal.aborted) {
      isLeft = await this.#parts.database.of(tenantId).ordinary(async (tx) => {
        const row = await lockWebhook(tx, id);
        if (row?.enabled) return false;
        return row ? failWaiting(tx, id, DISABLED) : deleteWebhookDeliveries(tx, id);
      });
    }
  }

  /** Waits for all, even if one fails: abandoned attempts would go on beside the next ones. */
  async #attemptAll(keys: TenantKeys, webhook: Webhook, rows: readonly DeliveryRow[]): Promise<readonly Ended[]> {
    const { signal } = this.#stopping;
    return Promise.all(
      rows.map(async (row): Promise<Ended> => {
        try {
          const result = await attemptDelivery(this.#parts, { keys, webhook, row }, signal);
          return { row, result: signal.aborted && result.problem !== undefined ? "interrupted" : result };
        } catch (error) {
          if (error instanceof KeyVersionUnknown) this.#parts.keyring.forget(keys.tenantId);
          this.#parts.onFailure(keys.tenantId, error);
          return { row, result: failureOf(error) };
        }
      }),
    );
  }

  #judge(name: string, ends: readonly Ended[], ms: number): Doubt | undefined {
    const attempts = ends.filter(({ result }) => result === "interrupted" || !result.isForged);
    // Nothing was sent, which says nothing of the address.
    if (attempts.length === 0) return this.#doubts.get(name);
    const isFailed = attempts.every(({ result }) => result === "interrupted" || result.problem !== undefined);
    if (!isFailed) return ms > LATE_MS ? { failures: 0, restUntil: 0 } : undefined;
    const failures = (this.#doubts.get(name)?.failures ?? 0) + 1;
    const rest = Math.min(attemptDelay(failures) ?? MAX_REST_MS, MAX_REST_MS);
    return { failures, restUntil: performance.now() + rest };
  }
}

type BatchClaim = Pick<DeliveryClaim, "limit" | "after">;

async function claim(
  tenant: ServedTenant,
  id: Uuid,
  batch: BatchClaim,
): Promise<Claimed & { readonly webhook?: Webhook }> {
  return tenant.bulk(async (tx) => {
    const found = await tx.query(readWebhook, id);
    if (!found?.enabled) return { rows: [], next: null };
    const webhook = openWebhook(tx.keys, found);
    return { webhook, ...(await claimDeliveries(tx, { webhookId: id, seconds: LEASE_SECONDS, ...batch })) };
  });
}

async function settle(tenant: ServedTenant, webhook: Webhook, ends: readonly Ended[]): Promise<void> {
  const outcomes = await tenant.bulk((tx) => Promise.all(ends.map((one) => settleOne(tx, webhook, one))));
  if (!outcomes.includes("over")) return;
  const isGone = ends.some(({ result }) => result !== "interrupted" && result.isGone);
  await tenant.ordinary(async (tx) => {
    if (isGone || (await hasOnlyFailed(tx, webhook.id))) await disableWebhook(tx, webhook, isGone ? "gone" : "failing");
  });
}

/** Writes how an attempt ended. @returns whether the webhook may have to be disabled. */
async function settleOne(tx: Transaction, webhook: Webhook, { row, result }: Ended): Promise<"over" | "open"> {
  const named = { webhookId: webhook.id, eventId: row.event_id, claim: row.claim };
  if (result === "interrupted") {
    tx.enqueue(releaseDelivery, named);
    return "open";
  }
  const next = afterAttempt(row, result, tx.now);
  if (!(await tx.query(endAttempt, { ...named, ...next }))) return "open";
  if (next.state === "waiting") scheduleDue(tx, { kind: "webhook_delivery", at: next.dueAt });
  return !result.isForged && (next.state === "failed" || result.isGone) ? "over" : "open";
}

function failureOf(error: unknown): AttemptResult {
  const isForged = error instanceof SealBroken && !(error instanceof KeyVersionUnknown);
  const problem = isForged ? "The event is not as the vault wrote it." : "The event could not be sent.";
  return { status: undefined, problem, isGone: false, isForged };
}

function afterAttempt(
  { attempts: before }: DeliveryRow,
  result: Pick<AttemptResult, "status" | "problem" | "isForged">,
  now: Date,
): Pick<AttemptEnd, "state" | "attempts" | "status" | "problem" | "dueAt"> {
  const attempts = before + 1;
  const status = result.status ?? null;
  const problem = result.problem ?? null;
  if (problem === null) return { state: "delivered", attempts, status, problem, dueAt: now };
  // It would stay as it is, and hold up the events of its entity.
  const delay = result.isForged ? undefined : attemptDelay(attempts);
  if (delay === undefined) return { state: "failed", attempts, status, problem, dueAt: now };
  return { state: "waiting", attempts, status, problem, dueAt: new Date(now.getTime() + delay) };
}
