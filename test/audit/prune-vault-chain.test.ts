import { expect, it } from "vitest";
import { MONTHS_AT_ONCE } from "../../src/audit/chain/retain-log.js";
import { recordVaultEvent } from "../../src/audit/chain/vault-log.js";
import { VAULT_TENANT_ID } from "../../src/base/ids.js";
import { monthStart } from "../../src/store/audit/log-partitions.js";
import { DAY, DAYS, HOUR, WrongClocks } from "./support/wrong-clocks.js";

const HELD = ["vault-chain-pruned"];

it("the vault's own chain loses at most two months in 20 hours, whichever server tries, and however often", async () => {
  const clocks = await WrongClocks.open();
  await using ledger = clocks.ledger;
  await clocks.both(0);
  for (let month = 0; month < 8; month += 1) {
    await recordVaultEvent(ledger, { entityType: "server", entityId: "s", operation: "start", remark: "a test" });
    await clocks.wait(31 * DAY);
  }
  const firstEntries: number[] = [];
  for (const hours of [0, 0, 1, 18, 2]) {
    await clocks.wait(hours * HOUR);
    await ledger.turnMonths({ retentionDays: DAYS, held: HELD });
    const [first] = await ledger.rows<{ at: Date }>(
      VAULT_TENANT_ID,
      "select window_start as at from audit_seals order by number limit 1",
    );
    firstEntries.push(first?.at.getTime() ?? 0);
  }
  const [pruned = 0, ...later] = firstEntries;
  expect(later.slice(0, -1)).toEqual([pruned, pruned, pruned]);
  const [next = 0] = later.slice(-1);
  expect(next).toBeGreaterThan(pruned);
  expect(next).toBeLessThanOrEqual(monthStart(new Date(pruned), MONTHS_AT_ONCE + 1).getTime());
  expect((await ledger.verifyVault()).findings).toEqual([]);
});
