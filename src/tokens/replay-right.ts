import type { Transform } from "../access/access-rule.js";
import { storedPaths } from "../access/container.js";
import type { AccessTarget, Grant } from "../access/grant.js";

/** The stored part of a token in an earlier response, without its value. */
export interface KeptToken {
  readonly id: string;
  readonly type: string;
  readonly containers: readonly string[];
  readonly createdAt: Date | undefined;
  readonly modifiedAt: Date | undefined;
  /** The request matched an older token with the same content. */
  readonly deduplicated: boolean;
}

/** The columns of a stored token that decide what a replay shows of it. */
export interface ReplayedColumns {
  readonly type: string;
  readonly containers: readonly string[];
  readonly created_at: Date;
  readonly modified_at: Date | null;
}

export type ReplayRight<Row> = { readonly type: string } & (
  | { readonly kind: "denied" }
  /** Only what was kept with the response. */
  | { readonly kind: "kept" }
  | { readonly kind: "shown"; readonly row: Row; readonly transform: Transform }
);

/**
 * Decides by the caller's current rights. The right that the first request needed must still apply, for the token's
 * current containers, or for its last ones if it is deleted.
 * @param found the token that has the id now.
 */
export function replayRight<Row extends ReplayedColumns>(
  grant: Grant,
  permission: "token:create" | "token:update",
  kept: KeptToken,
  found: Row | undefined,
): ReplayRight<Row> {
  // The id may belong to another token by now.
  const row = found && isTime(kept.createdAt, found.created_at) ? found : undefined;
  const target: AccessTarget = { id: kept.id, containers: storedPaths(row?.containers ?? kept.containers) };
  const type = row?.type ?? kept.type;
  const right =
    permission === "token:create" ? grant.transformForAll(permission, target) : grant.transformFor(permission, target);
  // A deduplicated response shows a token that may be in a container where the caller cannot create tokens.
  if (!right && !kept.deduplicated) return { kind: "denied", type };
  if (!row) return { kind: "kept", type };
  // A caller who created the token sees what it sent. Later changes need the right to read; a caller who may update
  // tokens sees their masks in any case.
  const isUnchanged = isTime(kept.modifiedAt, row.modified_at ?? undefined);
  const isOwnContent = !kept.deduplicated && (permission === "token:update" || isUnchanged);
  const transform = isOwnContent ? right : grant.transformFor("token:read", target);
  return transform ? { kind: "shown", type, row, transform } : { kind: "kept", type };
}

function isTime(one: Date | undefined, other: Date | undefined): boolean {
  return one?.getTime() === other?.getTime();
}
