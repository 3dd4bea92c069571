import { VAULT_TENANT_ID } from "../../base/ids.js";
import { rowLeaf } from "../../crypto/row-digest.js";
import { type RawLogRow, rowCells } from "../../store/audit/raw-log.js";
import { type Acknowledged, Findings } from "./findings.js";

/** What an entry of the vault's own chain says about its row. */
export function vaultRowDigest(row: RawLogRow): Buffer {
  return rowLeaf(VAULT_TENANT_ID, rowCells(row));
}

/** Compares the rows of the vault's own log with the entries of its chain: one row for each. */
export class VaultRows {
  readonly #awaited = new Map<string, Date>();
  readonly #known: Acknowledged[] = [];

  expect(digest: Uint8Array, at: Date): void {
    this.#awaited.set(Buffer.from(digest).toString("base64"), at);
  }

  /** Findings about rows that an operator knew when restarting the chain. */
  acknowledge({ hashes }: Acknowledged): void {
    this.#known.push({ hashes, count: hashes.size });
  }

  async check(pages: AsyncIterable<readonly RawLogRow[]>, findings: Findings, acknowledged: Findings): Promise<void> {
    const found = new Findings();
    for await (const page of pages) {
      for (const row of page) {
        if (this.#awaited.delete(vaultRowDigest(row).toString("base64"))) continue;
        const at = new Date(Math.floor(Number(row.micros) / 1_000));
        found.add("vault_changed", at, "a row of the vault's own log was changed or added");
      }
    }
    for (const at of this.#awaited.values()) {
      found.add("vault_changed", at, "a row of the vault's own log was changed or is gone");
    }
    for (const known of this.#known) found.acknowledge(known, acknowledged);
    findings.addAll(found);
  }
}
