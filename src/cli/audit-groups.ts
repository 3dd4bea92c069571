import type { LogRow } from "../store/audit/log-listing.js";
import { type FoundRow, showRow } from "./audit-search.js";
import type { CommandInput } from "./operator-command.js";
import { UsageError } from "./usage-error.js";

const GROUPS = {
  actor: ({ actor_id }: LogRow) => actor_id,
  key: ({ key_id, entity_type, entity_id }: LogRow) => key_id ?? (entity_type === "application_key" ? entity_id : null),
  address: ({ source_ip }: LogRow) => source_ip,
  code: ({ code }: LogRow) => code,
  day: ({ created_at }: LogRow) => created_at.toISOString().slice(0, 10),
} as const;

export type GroupName = keyof typeof GROUPS;

/** @throws {UsageError} for a group that the command does not have. */
export function readGroup(options: CommandInput["options"], names: readonly GroupName[]): GroupName | undefined {
  if (options.by === undefined) return undefined;
  const name = names.find((known) => known === options.by);
  if (name === undefined) throw new UsageError(`--by must be one of: ${names.join(", ")}.`);
  return name;
}

/** Rows as commands print them, or how many there are of each group, the largest first. */
export function rowsOrCounts(rows: readonly FoundRow[], by: GroupName | undefined): Readonly<Record<string, unknown>> {
  if (by === undefined) return { rows: rows.map(showRow) };
  const groups = Map.groupBy(rows, ({ row }) => GROUPS[by](row) ?? "(none)");
  const counts = [...groups].map(([group, found]) => ({ [by]: group, count: found.length }));
  return { counts: counts.toSorted((one, other) => Number(other.count) - Number(one.count)) };
}
