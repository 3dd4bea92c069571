import { Authenticator } from "../../src/access/authenticate.js";
import { type Caller, loggedActor } from "../../src/access/caller.js";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { systemClock } from "../../src/base/clock.js";
import { newUuid } from "../../src/base/ids.js";
import { firstOfMonth } from "../../src/base/month.js";
import type { TenantKeys } from "../../src/crypto/tenant-keys.js";
import { readConfig } from "../../src/settings/config.js";
import { connect, type DatabaseAddress, type Sql } from "../../src/store/postgres/connect.js";
import type { TermRow } from "../../src/store/tokens/token-terms.js";
import type { TokenRow } from "../../src/store/tokens/tokens.js";
import { prepareToken } from "../../src/tokens/prepare.js";
import { sealToken, tokenDataText } from "../../src/tokens/sealing.js";
import { tokenTerms } from "../../src/tokens/terms.js";
import { openVault } from "../../src/vault/vault.js";
import type { BenchServer } from "./bench-server.js";
import { copyRows } from "./copy-rows.js";
import { say } from "./table.js";

/** Tokens per transaction. */
const BATCH = 2_000;

/** Tokens that share a value of the metadata `customer`. */
const TOKENS_OF_CUSTOMER = 20;

/** Search terms of the n-th token: 20 tokens have the same `customer`, nine of ten the `country` US. */
export function metadataOf(n: number): Record<"customer" | "country", string> {
  return { customer: `customer-${Math.floor(n / TOKENS_OF_CUSTOMER)}`, country: n % 10 === 9 ? "FR" : "US" };
}

/**
 * Adds `count` tokens to a key's tenant, dated one per millisecond up to now. They are complete: validated, sealed,
 * with their terms, and counted. Two of three are cards. Only their log rows are missing: the running server would have
 * to seal rows in past minutes out of turn, and no list reads them.
 * The rows bypass the domain's create and the shared transactions, which would take three times as long.
 */
export async function fill(server: Pick<BenchServer, "environment">, key: string, count: number): Promise<void> {
  const config = readConfig(server.environment);
  await using vault = await openVault({ config, as: "command", announce: () => {}, clock: systemClock });
  const caller = await new Authenticator(vault.database, vault.keyring, systemClock).authenticate(key, EMPTY_CONTEXT);
  const keys = await vault.keyring.of(caller.tenantId);
  const sql = connect(vault.ownerAddress, { role: "cloakroom_app", connections: 1, statementTimeout: 60_000 });
  const oldest = Date.now() - count;
  const progress = new Progress(count);
  let written = Promise.resolve();
  for (let from = 0; from < count; from += BATCH) {
    const to = Math.min(from + BATCH, count);
    const batch = batchOf(caller, keys, from, to, oldest);
    // The next batch is prepared while the database writes this one.
    await written;
    progress.reached(from);
    written = write(sql, caller, batch);
  }
  await written;
  await sql.end({ timeout: 5 });
  await tidy(vault.ownerAddress);
  progress.reached(count);
}

interface FilledBatch {
  readonly tokens: readonly TokenRow[];
  readonly terms: readonly TermRow[];
}

function batchOf(caller: Caller, keys: TenantKeys, from: number, to: number, oldest: number): FilledBatch {
  const now = new Date();
  const tokens: TokenRow[] = [];
  const terms: TermRow[] = [];
  // Hashing terms is most of the work, and many tokens have the same terms.
  const known = new Map<string, readonly TermRow[]>();
  for (let n = from; n < to; n += 1) {
    const prepared = prepareToken({ caller, keys, now }, { ...draftOf(n), ...NOTHING_ELSE });
    const { attributes, containers, fingerprint = null, indexValues } = prepared;
    const id = newUuid();
    const createdAt = new Date(oldest + n);
    const plain = {
      id,
      type: prepared.type.name,
      containers: [...containers],
      fingerprint,
      dedupe_key: null,
      revision: 1,
    };
    tokens.push({
      ...plain,
      ...sealToken(keys, plain, { text: tokenDataText(prepared.data.reveal()), attributes, indexValues }),
      ...{ expires_at: null, expires_at_text: null, active_month: firstOfMonth(now) },
      ...{ created_by: loggedActor(caller).id, created_at: createdAt, modified_by: null, modified_at: null },
    });
    const { metadata = {} } = attributes;
    const findable = JSON.stringify([containers, metadata, indexValues]);
    const same = known.get(findable) ?? tokenTerms(keys, { id, createdAt, containers, metadata, indexValues });
    known.set(findable, same);
    terms.push(...same.map(({ term }) => ({ term, created_at: createdAt, token_id: id })));
  }
  return { tokens, terms };
}

const NOTHING_ELSE = { id: undefined, containers: [], deduplicate: undefined, expiresAt: undefined };

function draftOf(n: number) {
  const attributes = { metadata: metadataOf(n) };
  return n % 3 === 0
    ? { type: "token", data: `value ${n}`, attributes }
    : {
        type: "card",
        data: { number: cardNumberOf(n), expiration_month: (n % 12) + 1, expiration_year: 2030 },
        attributes,
      };
}

/** Sixteen digits with a valid Luhn check digit. */
function cardNumberOf(n: number): string {
  const digits = `4${String(n).padStart(14, "0")}`;
  const sum = [...digits].reduce((total, digit, place) => {
    const weighed = Number(digit) * (place % 2 === 0 ? 2 : 1);
    return total + (weighed > 9 ? weighed - 9 : weighed);
  }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

async function write(sql: Sql, { tenantId }: Caller, { tokens, terms }: FilledBatch): Promise<void> {
  await sql.begin(async (tx) => {
    // No caller waits for an acknowledgement, so the database may flush its log asynchronously.
    await tx.unsafe(`set local app.tenant_id = '${tenantId}'; set local synchronous_commit = off`);
    await copyRows(
      tx,
      "tokens",
      tokens.map((token) => ({ tenant_id: tenantId, ...token })),
    );
    await copyRows(
      tx,
      "token_terms",
      terms.map((term) => ({ tenant_id: tenantId, ...term })),
    );
    for (const type of ["card", "token"]) {
      const made = tokens.filter((token) => token.type === type);
      const last = made.at(-1)?.created_at ?? null;
      await tx`
        insert into token_counts ${tx({ tenant_id: tenantId, type, slot: 0, n: made.length, last_created_at: last })}
        on conflict (tenant_id, type, slot) do update set n = token_counts.n + excluded.n,
          last_created_at = greatest(token_counts.last_created_at, excluded.last_created_at)`;
    }
    await tx`
      insert into token_activity ${tx({ tenant_id: tenantId, month: firstOfMonth(new Date()), slot: 0, n: tokens.length })}
      on conflict (tenant_id, month, slot) do update set n = token_activity.n + excluded.n`;
  });
}

/** What the database does on its own within minutes: statistics, and a visibility map for index-only scans. */
async function tidy(address: DatabaseAddress): Promise<void> {
  const sql = connect(address, { connections: 1, statementTimeout: 0 });
  await sql`vacuum analyze tokens, token_terms, token_counts`;
  await sql.end({ timeout: 5 });
}

/** Prints the progress of a fill in tenths. */
class Progress {
  readonly #count: number;
  readonly #started = performance.now();
  #said = 0;

  constructor(count: number) {
    this.#count = count;
  }

  reached(n: number): void {
    if (n < this.#count && n - this.#said < this.#count / 10) return;
    this.#said = n;
    say(`  filled ${n} of ${this.#count} tokens in ${((performance.now() - this.#started) / 1_000).toFixed(0)} s`);
  }
}
