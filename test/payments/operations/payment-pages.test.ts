import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fault } from "../../../src/base/fault.js";
import { newUuid } from "../../../src/base/ids.js";
import { pageOfPayments } from "../../../src/payments/operations/payment-pages.js";
import type { PaymentListing, PaymentScope } from "../../../src/store/payments/payments.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { type BatcherFixture, openFixture } from "../../store/support/batcher-fixture.js";
import { asTenant, startDatabase, type TestDatabase } from "../../support/databases.js";

const CONTAINERS = [["/a/"], ["/a/b/"], ["/c/", "/a/"], ["/d/"]] as const;
const STATUSES = ["charged", "failed"] as const;
const NOW = Date.now();

/** Three payments share each moment, so steps end between them. */
const known = Array.from({ length: 40 }, (_, n) => ({
  id: newUuid(),
  createdAt: new Date(NOW - Math.floor(n / 3) * 1_000),
  containers: [...(CONTAINERS[(n * 7) % 4] ?? [])],
  status: STATUSES[n % 2] ?? "charged",
  tokenId: `token-${n % 5}`,
}));
type Known = (typeof known)[number];

const SCOPES: readonly (readonly [PaymentScope, (payment: Known) => boolean])[] = [
  [[{ containerPrefix: "/a/" }], ({ containers }) => containers.some((path) => path.startsWith("/a/"))],
  [[{ container: "/a/b/" }], ({ containers }) => containers.includes("/a/b/")],
  [[{ containerPrefix: "/nothing/" }], () => false],
  [
    [{ tokenId: "token-3" }, { containerPrefix: "/d/" }],
    ({ tokenId, containers }) => tokenId === "token-3" && containers.includes("/d/"),
  ],
];

describe("pages of the payments that rules on containers let a caller see", () => {
  let database: TestDatabase;
  let fixture: BatcherFixture;
  beforeAll(async () => {
    database = await startDatabase();
    fixture = await openFixture(database, { connections: 1 });
    const sql = connect(database.address, { connections: 1, statementTimeout: 20_000 });
    const rows = known.map(
      ({ id, createdAt, containers, status, tokenId }) =>
        `('${fixture.tenantId}', '${id}', '${newUuid()}', '${tokenId}', '{${containers}}', '${status}', '', 1, '${createdAt.toISOString()}')`,
    );
    const columns = "tenant_id, id, connection_id, token_id, containers, status, record, revision, created_at";
    await asTenant(sql, fixture.tenantId, `insert into payments (${columns}) values ${rows.join()}`);
    await sql.end({ timeout: 5 });
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  const scope = fc.constantFrom(...SCOPES);
  const listed = fc.record({
    groups: fc.array(fc.array(scope, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
    status: fc.constantFrom(undefined, ...STATUSES),
    page: fc.integer({ min: 1, max: 6 }),
    size: fc.integer({ min: 1, max: 9 }),
  });
  const signal = new AbortController().signal;

  it("have those that match, newest first, and their number, whatever the size of a step", async () => {
    await fc.assert(
      fc.asyncProperty(listed, fc.integer({ min: 1, max: 41 }), async ({ groups, status, page, size }, step) => {
        const fits = (payment: Known) =>
          (status === undefined || payment.status === status) &&
          groups.every((group) => group.some(([, isIn]) => isIn(payment)));
        const expected = known
          .filter(fits)
          .sort((a, b) => Number(b.createdAt) - Number(a.createdAt) || (a.id < b.id ? 1 : -1))
          .map(({ id }) => id);
        const scopes = groups.map((group) => group.map(([each]) => each));
        const listing: PaymentListing = { page, size, status, externalTerm: undefined, id: undefined, scopes };
        const { items, total } = await fixture.batcher.run(fixture.tenantId, undefined, (tx) =>
          pageOfPayments(tx, listing, { signal, size: step }),
        );
        expect({ total, ids: items.map(({ id }) => id) }).toEqual({
          total: expected.length,
          ids: expected.slice((page - 1) * size, page * size),
        });
      }),
      { numRuns: 100 },
    );
  });

  it("are compared for 15 seconds at most, and only while they are waited for", async () => {
    const listing = { page: 1, size: 20, status: undefined, externalTerm: undefined, id: undefined };
    const scopes = [[[{ containerPrefix: "/nothing/" }]]];
    const ended = async (now: () => number, ending = signal) => {
      let steps = 0;
      const outcome = await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => {
        const counted = () => {
          steps += 1;
          return now();
        };
        const reading = { signal: ending, size: 10, now: counted };
        return pageOfPayments(tx, { ...listing, scopes }, reading).catch((error: unknown) =>
          error instanceof Fault ? error.code : error,
        );
      });
      return { outcome, steps };
    };
    expect((await ended(() => 0)).outcome).toEqual({ items: [], total: 0 });
    let clock = 0;
    expect(await ended(() => (clock += 7_000))).toEqual({ outcome: "unavailable", steps: 4 });
    expect((await ended(() => 0, AbortSignal.abort())).outcome).toBe("unavailable");
  });
});
