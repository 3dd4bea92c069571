import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isTenantId, type TenantId } from "../../src/base/ids.js";
import { type Cell, RowDigest, rowLeaf, treeNode } from "../../src/crypto/row-digest.js";

const TENANT = tenantOf("01890000-0000-7000-8000-000000000001");

function tenantOf(id: string): TenantId {
  if (!isTenantId(id)) throw new Error("the tenant id is malformed");
  return id;
}

const row = (n: number): readonly Cell[] => [String(n), `row-${n}`, null, "", "token", "é", "read", "Token retrieved"];

function digestOf(rows: readonly (readonly Cell[])[]): string {
  const digest = new RowDigest(TENANT);
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
  it("has the recorded values", () => {
    expect(digestOf([])).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(digestOf([row(1)])).toBe("67b50bb85ec8b3e3be898aed6a9d3c3031f0b6a961250e3aad1670d92742e7c7");
    expect(digestOf([1, 2, 3].map(row))).toBe("8a7b4c9c1aac454dc5b7a0f6f7dcc223c24fd1e472fa7bd2031150eb4970e190");
  });

  it("is the root of the tree of RFC 9162, for every number of rows", () => {
    for (let count = 0; count <= 70; count += 1) {
      const rows = Array.from({ length: count }, (_, index) => row(index));
      const leaves = rows.map((cells) => rowLeaf(TENANT, cells));
      expect(digestOf(rows), `${count} rows`).toBe(treeHash(leaves).toString("hex"));
    }
  });

  it("tells rows apart by every cell, by null and by their order", () => {
    const cells = row(1);
    const changed = cells.map((cell, index) => cells.with(index, cell === null ? "" : `${cell}x`));
    const shifted = [...cells.slice(0, 3), ...cells.slice(4), ""];
    const all = [[cells], ...changed.map((one) => [one]), [shifted], [cells, row(2)], [row(2), cells], [cells, cells]];
    expect(new Set(all.map((rows) => digestOf(rows))).size).toBe(all.length);
  });
});
