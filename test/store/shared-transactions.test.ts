import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../src/base/ids.js";
import { deleteApplicationRow, insertApplication } from "../../src/store/access/applications.js";
import { deleteInvitationMessages, insertMessage } from "../../src/store/jobs/outbox.js";
import { deleteCvc, upsertCvc } from "../../src/store/tokens/token-cvc.js";
import type { TokenRow } from "../../src/store/tokens/tokens.js";
import type { Transaction } from "../../src/store/transactions/transaction.js";
import { startDatabase, type TestDatabase } from "../support/databases.js";
import { openFixture, together } from "./support/batcher-fixture.js";

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.[Symbol.asyncDispose]());

const CARD: TokenRow = {
  ...{ id: "card", type: "card", data: Buffer.from("old"), attributes: null, containers: ["/pci/high/"] },
  ...{ fingerprint: null, dedupe_key: Buffer.from("same"), expires_at: null, expires_at_text: null, revision: 1 },
  ...{
    active_month: "2026-01-01",
    created_by: newUuid(),
    created_at: new Date(),
    modified_by: null,
    modified_at: null,
  },
};
const LATER = new Date(Date.now() + 3_600_000);

const codeOf = (token_id: string, code: string) => ({ token_id, code: Buffer.from(code), due_at: LATER });

describe("requests that share a transaction", () => {
  it("keep the code of a card that replaces a deleted one", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    await together(
      fixture,
      [
        async (tx) => tx.enqueue(upsertCvc, codeOf("another", "1")),
        async (tx) => tx.enqueue(deleteCvc, CARD.id),
        async (tx) => tx.enqueue(upsertCvc, codeOf(CARD.id, "2")),
      ],
      { guard: undefined },
    );
    const rows = await database.asTenant<{ token_id: string }>(
      fixture.tenantId,
      "select token_id from token_cvc order by 1",
    );
    expect(rows.map(({ token_id }) => token_id)).toEqual(["another", CARD.id]);
  });

  it("keep the message that replaces earlier ones", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const [invited, resent] = [newUuid(), newUuid()];
    await together(
      fixture,
      [
        async (tx) => tx.enqueue(insertMessage, { id: newUuid(), invitation_id: invited, invitation_revision: 1 }),
        async (tx) => {
          tx.enqueue(deleteInvitationMessages, resent);
          tx.enqueue(insertMessage, { id: newUuid(), invitation_id: resent, invitation_revision: 2 });
        },
      ],
      { guard: undefined },
    );
    const rows = await database.asTenant<{ id: string }>(fixture.tenantId, "select invitation_id as id from outbox");
    expect(rows.map(({ id }) => id).sort()).toEqual([invited, resent].sort());
  });

  it("do not both delete one application", async () => {
    await using fixture = await openFixture(database, { connections: 1 });
    const id = newUuid();
    const made = { id, type: "private", name: Buffer.alloc(0), definition: Buffer.alloc(0), created_by: null };
    await fixture.batcher.run(fixture.tenantId, undefined, async (tx) => tx.enqueue(insertApplication, made));
    const remove = (tx: Transaction) => tx.query(deleteApplicationRow, id);
    const outcomes = await together(fixture, [remove, remove], { guard: undefined });
    expect(outcomes).toEqual([true, false].map((value) => ({ status: "fulfilled", value })));
  });
});
