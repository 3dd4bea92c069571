import { hash } from "node:crypto";
import type { TenantId } from "../base/ids.js";
import { lengthPrefixed } from "./bytes.js";

/** A column of a log row as text; null differs from the empty text. */
export type Cell = string | null;

/**
 * The digest over the rows of a minute, in the order of (created_at, id): the root of a Merkle tree (RFC 9162, 2.1.1),
 * which can prove one row without the others. A leaf covers the tenant and the cells; the minute is under the MAC of its
 * seal.
 */
export class RowDigest {
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

export function rowLeaf(tenantId: TenantId, cells: readonly Cell[]): Buffer {
  const content = lengthPrefixed(["cloakroom/log-row/1", tenantId, ...cells.map(marked)]);
  return hash("sha256", Buffer.concat([LEAF, content]), "buffer");
}

export function treeNode(left: Uint8Array, right: Uint8Array): Buffer {
  return hash("sha256", Buffer.concat([NODE, left, right]), "buffer");
}

function marked(cell: Cell): string {
  return cell === null ? "0" : `1${cell}`;
}
