import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isTenantId, type TenantId } from "../../src/base/ids.js";
import { type Cell, type DigestVersion, newRowDigest, rowLeaf, treeNode } from "../../src/crypto/row-digest.js";

const TENANT = tenantOf("01890000-0000-7000-8000-000000000001");
const MINUTE = new Date("2026-11-22T14:30:00Z");

function tenantOf(id: string): TenantId {
  if (!isTenantId(id)) throw new Error("the tenant id is malformed");
  return id;
}

const row = (n: number): readonly Cell[] => [String(n), `row-${n}`, null, "", "token", "é", "read", "Token retrieved"];

function digestOf(version: DigestVersion, rows: readonly (readonly Cell[])[]): string {
  const digest = newRowDigest(version, TENANT, MINUTE);
  for (const cells of rows) digest.add(cells);
  expect(digest.count).toBe(rows.length);
  return digest.finish().toString("hex");
}

/** The tree hash as RFC 9162, 2.1.1 defines it: split at the largest power of two below the size. */
function treeHash(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (!only) return createHash("sha256").digest();
  if (leaves.length === 1) return only;
  let split = 1;
  while (2 * split < leaves.length) split *= 2;
  return treeNode(treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)));
}

// Stored seals depend on these values: they must never change.
describe("the digest over the rows of a minute", () => {
  it("has the recorded values in layout 1", () => {
    expect(digestOf(1, [])).toBe("35bf62a01f535de276fe9a91d40d732561a96218251587a58a9b3dcf1db2117d");
    expect(digestOf(1, [row(1)])).toBe("8605db7f940bde0bddcae83c9545e420472b1d31d58c31a14aa8f0c7cff139f5");
    expect(digestOf(1, [1, 2, 3].map(row))).toBe("915db608a4e3a036cbaf6a13bd82b69d9f30ad1f16e26f3054458c0499c4cb7c");
  });

  it("has the recorded values in layout 2", () => {
    expect(digestOf(2, [])).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(digestOf(2, [row(1)])).toBe("8fa26c39c0ca34baae8038bd0f41d59df2e5833643dfcb02a0e1edb0fdd30683");
    expect(digestOf(2, [1, 2, 3].map(row))).toBe("fb0436c82549e1c5d18521bfb1b4c60dca6078646a82f5263fc832aced33ffaf");
  });

  it("is the root of the tree of RFC 9162 in layout 2, for every number of rows", () => {
    for (let count = 0; count <= 70; count += 1) {
      const rows = Array.from({ length: count }, (_, index) => row(index));
      const leaves = rows.map((cells) => rowLeaf(TENANT, cells));
      expect(digestOf(2, rows), `${count} rows`).toBe(treeHash(leaves).toString("hex"));
    }
  });

  it.each([1, 2] as const)("of layout %i tells rows apart by every cell, by null and by their order", (version) => {
    const cells = row(1);
    const changed = cells.map((cell, index) => cells.with(index, cell === null ? "" : `${cell}x`));
    const shifted = [...cells.slice(0, 3), ...cells.slice(4), ""];
    const all = [[cells], ...changed.map((one) => [one]), [shifted], [cells, row(2)], [row(2), cells], [cells, cells]];
    expect(new Set(all.map((rows) => digestOf(version, rows))).size).toBe(all.length);
  });
});
