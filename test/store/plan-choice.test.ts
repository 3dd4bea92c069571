import { afterAll, beforeAll, expect, it } from "vitest";
import { EMPTY_CONTEXT } from "../../src/audit/audit-context.js";
import { logEntry } from "../../src/audit/log-entry.js";
import { newUuid } from "../../src/base/ids.js";
import { findApplicationKey, findApplicationRights } from "../../src/store/access/credentials.js";
import { writeLog } from "../../src/store/audit/audit-logs.js";
import { findTokenLogged, loggedTokenQuery } from "../../src/store/audit/logged-reads.js";
import { scheduleDue } from "../../src/store/jobs/due.js";
import {
  deleteExpiredIdempotencyKey,
  findIdempotencyKey,
  insertIdempotencyKey,
} from "../../src/store/jobs/idempotency-keys.js";
import { defineStatement } from "../../src/store/statements/statement.js";
import { countActiveToken, countToken } from "../../src/store/tokens/token-counts.js";
import { deleteCvc, upsertCvc } from "../../src/store/tokens/token-cvc.js";
import { findConflictingTokens, findToken } from "../../src/store/tokens/token-reads.js";
import { deleteTerm, insertTerm } from "../../src/store/tokens/token-terms.js";
import {
  deleteTokenRow,
  insertToken,
  insertTokenIfFree,
  markTokenActive,
  type TokenRow,
  updateTokenRow,
} from "../../src/store/tokens/tokens.js";
import type { OrdinaryTransaction } from "../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { openFixture, together } from "./support/batcher-fixture.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

interface PlanCounts {
  readonly statement: string;
  readonly generic_plans: number;
  readonly custom_plans: number;
}

const plansOf = defineStatement<"this session", readonly PlanCounts[], PlanCounts>({
  table: "tenants",
  kind: "read",
  sortKey: () => "",
  queries: (sql) => [sql`select statement, generic_plans, custom_plans from pg_prepared_statements`],
  outputs: ([rows = []], inputs) => inputs.map(() => rows),
});

const LOGGED = loggedTokenQuery(new Map([["token", "Token retrieved"]]));

function rowOf(id: string): TokenRow {
  return {
    ...{ id, type: "token", data: Buffer.from("x"), attributes: null, containers: ["/a/"], fingerprint: null },
    ...{ dedupe_key: Buffer.from(id), expires_at: null, expires_at_text: null, revision: 1 },
    ...{
      active_month: "2026-01-01",
      created_by: newUuid(),
      created_at: new Date(),
      modified_by: null,
      modified_at: null,
    },
  };
}

/** Every statement of the hot path for one token. */
async function everything(tx: OrdinaryTransaction, id: string): Promise<void> {
  const term = { term: Buffer.from(id), created_at: tx.now, token_id: id };
  const hash = Buffer.from(id);
  await Promise.all([tx.query(findApplicationKey, hash), tx.query(findApplicationRights, newUuid())]);
  await tx.query(findIdempotencyKey, hash);
  tx.enqueue(insertToken, rowOf(`${id} a`));
  tx.enqueue(insertTerm, term);
  tx.enqueue(upsertCvc, { token_id: id, code: Buffer.from("1"), due_at: new Date(tx.now.getTime() + 60_000) });
  scheduleDue(tx, { kind: "token", at: tx.now });
  tx.enqueue(countToken, { type: "token", change: 1, createdAt: tx.now });
  countActiveToken(tx, "2026-01-01");
  writeLog(tx, logEntry("token", id, "create"));
  const row = rowOf(id);
  await tx.query(insertTokenIfFree, row);
  await findConflictingTokens(tx, { id, dedupeKey: row.dedupe_key });
  await findToken(tx, id);
  await markTokenActive(tx, id, "2026-02-01");
  updateTokenRow(tx, { ...row, data: Buffer.from("y"), modified_by: newUuid() });
  tx.enqueue(deleteExpiredIdempotencyKey, hash);
  tx.enqueue(insertIdempotencyKey, {
    ...{ key_hash: hash, request_hash: hash, accepted: false, response: hash, expires_at: tx.now, maker: hash },
  });
  tx.enqueue(deleteCvc, id);
  tx.enqueue(deleteTerm, term);
  await tx.query(deleteTokenRow, { id, revision: 2 });
  await findTokenLogged(tx, LOGGED, {
    id: `${id} a`,
    maxBytes: 100,
    logId: newUuid(),
    actor: undefined,
    context: EMPTY_CONTEXT,
    transform: "mask",
  });
}

it("every statement of the hot path has one plan, which is kept", async () => {
  await using fixture = await openFixture(database, { connections: 1 });
  // The guard is one of them.
  const guard = 1;
  for (const size of [1, 3]) {
    // At its tenth transaction the connection plans its statements again.
    for (let round = 0; round < 20; round += 1) {
      const works = Array.from(
        { length: size },
        (_, n) => (tx: OrdinaryTransaction) => everything(tx, `${size}/${round}/${n}`),
      );
      const outcomes = await together(fixture, works, { guard });
      expect(outcomes).toEqual(works.map(() => ({ status: "fulfilled", value: undefined })));
    }
  }
  const plans = await fixture.batcher.run(fixture.tenantId, undefined, (tx) => tx.query(plansOf, "this session"));
  const planned = plans.filter(({ generic_plans, custom_plans }) => generic_plans + custom_plans >= 10);
  expect(planned.length, "statements").toBeGreaterThan(30);
  // PostgreSQL plans each five times before it compares. An array parameter would be planned at each execution.
  expect(planned.filter(({ custom_plans, generic_plans }) => custom_plans > 5 || generic_plans === 0)).toEqual([]);
});
