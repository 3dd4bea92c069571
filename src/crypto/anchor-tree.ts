import { hash } from "node:crypto";
import { lengthPrefixed } from "./bytes.js";
import { treeNode } from "./row-digest.js";

const LEAF = Buffer.from([0]);

/** The way from a leaf to the root: the side and hash of each neighbour, such as `L<64 hexadecimal digits>`. */
export type AnchorProof = readonly string[];

/** A Merkle tree (RFC 9162, 2.1.1) over the last seals of tenants. One time stamp of its root covers all. */
export class AnchorTree {
  /** Leaves first, the root last. */
  readonly #levels: readonly (readonly Buffer[])[];

  /** @param bodies hashes of signed texts, in hexadecimal; at least one. */
  constructor(bodies: readonly string[]) {
    const levels = [bodies.map(anchorLeaf)];
    for (let level = levels[0] ?? []; level.length > 1; level = levels.at(-1) ?? []) levels.push(paired(level));
    this.#levels = levels;
  }

  get root(): Buffer {
    return this.#levels.at(-1)?.[0] ?? hash("sha256", "", "buffer");
  }

  proofOf(index: number): AnchorProof {
    const proof: string[] = [];
    let position = index;
    for (const level of this.#levels) {
      const neighbour = level[position % 2 === 0 ? position + 1 : position - 1];
      if (neighbour) proof.push(`${position % 2 === 0 ? "R" : "L"}${neighbour.toString("hex")}`);
      position = Math.floor(position / 2);
    }
    return proof;
  }
}

/** The root that a leaf and its proof lead to; undefined for a proof that is not one. */
export function anchorRoot(body: string, proof: AnchorProof): Buffer | undefined {
  let node = anchorLeaf(body);
  for (const step of proof) {
    if (!/^[LR][0-9a-f]{64}$/.test(step)) return undefined;
    const neighbour = Buffer.from(step.slice(1), "hex");
    node = step.startsWith("L") ? treeNode(neighbour, node) : treeNode(node, neighbour);
  }
  return node;
}

function anchorLeaf(body: string): Buffer {
  return hash("sha256", Buffer.concat([LEAF, lengthPrefixed(["cloakroom/audit-anchor/1", body])]), "buffer");
}

/** A last node without a neighbour goes up as it is. */
function paired(level: readonly Buffer[]): Buffer[] {
  return level.flatMap((left, index) => {
    if (index % 2 === 1) return [];
    const right = level[index + 1];
    return [right ? treeNode(left, right) : left];
  });
}
