import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { newTenantId } from "../../../src/base/ids.js";
import { type Database, openDatabase } from "../../../src/store/database.js";
import { deleteDueInvitations } from "../../../src/store/people/invitations.js";
import { ROWS_PER_REMOVAL } from "../../../src/store/statements/removal.js";
import { deleteDueCvc } from "../../../src/store/tokens/token-cvc.js";
import { startDatabase, type TestDatabase } from "../../support/databases.js";

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await startDatabase();
  database = openDatabase({ address: stored.address, sharedConnections: 1, bulkConnections: 1, clock: systemClock });
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await stored?.[Symbol.asyncDispose]();
});

it("removes the longest expired rows first, up to a limit, and leaves all others", async () => {
  const tenantId = newTenantId();
  const other = newTenantId();
  const due = ROWS_PER_REMOVAL + 300;
  for (const of of [tenantId, other]) {
    await stored.asTenant(
      of,
      `insert into token_cvc select '${of}', 'over-' || n, '\\x01', now() - n * interval '1 s' from generate_series(1, ${due}) n;
       insert into token_cvc select '${of}', 'lasts-' || n, '\\x01', now() + interval '1 h' from generate_series(1, 5) n`,
    );
  }
  const remove = () => database.of(tenantId).bulk((tx) => tx.query(deleteDueCvc, "due"));
  const left = async (of: typeof tenantId, like: string) =>
    (await stored.asTenant(of, `select 1 from token_cvc where token_id like '${like}'`)).length;
  expect(await remove()).toBe(ROWS_PER_REMOVAL);
  expect(await left(tenantId, "over-%")).toBe(300);
  expect(await left(tenantId, "over-300")).toBe(1);
  expect([await remove(), await remove()]).toEqual([300, 0]);
  expect([await left(tenantId, "over-%"), await left(tenantId, "lasts-%")]).toEqual([0, 5]);
  expect([await left(other, "over-%"), await left(other, "lasts-%")]).toEqual([due, 5]);
});

it("leaves unaccepted invitations: they are shown as expired", async () => {
  const tenantId = newTenantId();
  const invitation = (term: string, member: string) => `
    insert into invitations (tenant_id, id, email, email_term, role, link_hashes, revision, expires_at, member_id, created_at)
    values ('${tenantId}', gen_random_uuid(), '\\x01', '${term}', 'ADMIN', '{}', 1, now() - interval '1 s', ${member}, now())`;
  await stored.asTenant(tenantId, `${invitation("a", "null")}; ${invitation("b", "gen_random_uuid()")}`);
  const removed = await database.of(tenantId).bulk((tx) => tx.query(deleteDueInvitations, "due"));
  expect(removed).toBe(1);
  expect(await stored.asTenant(tenantId, "select member_id from invitations")).toEqual([{ member_id: null }]);
});
