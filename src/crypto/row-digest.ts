import { createHash, hash } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";

/** A column of a log row as text; null differs from the empty text. */
export type Cell = string | null;

/** Layouts of the digest over the rows of a minute, oldest first. New seals have the last. */
export const DIGEST_VERSIONS = [1, 2] as const;
export type DigestVersion = (typeof DIGEST_VERSIONS)[number];
export const CURRENT_DIGEST: DigestVersion = 2;

/** Covers the rows of one minute, in the order of (created_at, id). */
export interface RowDigest {
  /** Number of rows so far. */
  readonly count: number;
  /** Adds a row by its cells, in the order of the layout. */
  add(cells: readonly Cell[]): void;
  /** Ends the digest. */
  finish(): Buffer;
}

/** An empty digest of a layout. */
export function newRowDigest(version: DigestVersion, tenantId: TenantId, windowStart: Date): RowDigest {
  return version === 1 ? new FlatDigest(tenantId, windowStart) : new RowTree(tenantId);
}

/** Layout 1: SHA-256 over all rows. */
class FlatDigest implements RowDigest {
  readonly #hash = createHash("sha256");
  #count = 0;

  constructor(tenantId: TenantId, windowStart: Date) {
    this.#hash.update(lengthPrefixed(["cloakroom/log-rows/1", tenantId, windowStart.toISOString()]));
  }

  get count(): number {
    return this.#count;
  }

  add(cells: readonly Cell[]): void {
    this.#count += 1;
    this.#hash.update(lengthPrefixed(cells.map(marked)));
  }

  finish(): Buffer {
    return this.#hash.digest();
  }
}

/**
 * Layout 2: the root of a Merkle tree over the rows (RFC 9162, 2.1.1), which can prove one row without the others. A
 * leaf covers the tenant and the cells; the minute is under the MAC of its seal.
 */
class RowTree implements RowDigest {
  readonly #tenantId: TenantId;
  /** Roots of complete subtrees, largest first: one for each bit of the count. */
  readonly #roots: Buffer[] = [];
  #count = 0;

  constructor(tenantId: TenantId) {
    this.#tenantId = tenantId;
  }

  get count(): number {
    return this.#count;
  }

  add(cells: readonly Cell[]): void {
    let root = rowLeaf(this.#tenantId, cells);
    // Each trailing one of the count is a subtree of the size that `root` has by then.
    for (let rest = this.#count; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      const left = this.#roots.pop();
      if (left) root = treeNode(left, root);
    }
    this.#roots.push(root);
    this.#count += 1;
  }

  finish(): Buffer {
    const [first = hash("sha256", "", "buffer"), ...others] = this.#roots.toReversed();
    return others.reduce((right, left) => treeNode(left, right), first);
  }
}

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

/** The hash of a row in a tree of layout 2. */
export function rowLeaf(tenantId: TenantId, cells: readonly Cell[]): Buffer {
  const content = lengthPrefixed(["cloakroom/log-row/2", tenantId, ...cells.map(marked)]);
  return hash("sha256", Buffer.concat([LEAF, content]), "buffer");
}

/** The hash of a node that is not a leaf. */
export function treeNode(left: Uint8Array, right: Uint8Array): Buffer {
  return hash("sha256", Buffer.concat([NODE, left, right]), "buffer");
}

function marked(cell: Cell): string {
  return cell === null ? "0" : `1${cell}`;
}
