import { boundQuery, boundWrite } from "../../../src/store/statements/bound-statement.js";
import { text, time } from "../../../src/store/statements/parameter.js";

/** The simplest thing that a tenant can store: a named row. `due` has room for it, and no other row has that time. */
export const ROW_TIME = new Date("2001-01-01T00:00:00Z");

const COAT = { name: text((name: string) => name), at: time((_: string) => ROW_TIME) };

/** Fails with a unique violation if the name is taken. */
export const insertNamedRow = boundWrite<string>({
  table: "due",
  sql: "insert into due (tenant_id, kind, due_at) values {(:tenant, :name, :at)}",
  parameters: COAT,
  sortKey: (name) => name,
});

/** Returns whether the name was free. */
export const insertIfFree = boundQuery<string, boolean, string>({
  table: "due",
  kind: "write",
  hasWritten: (wasFree) => wasFree,
  sql: "insert into due (tenant_id, kind, due_at) values {(:tenant, :name, :at)} on conflict do nothing returning kind",
  parameters: COAT,
  sortKey: (name) => name,
  row: (column) => column.text(),
  outputs(rows, names) {
    const inserted = new Set(rows.flat());
    return names.map((name) => inserted.delete(name));
  },
});

/** Returns whether a row of this name exists. */
export const namedRowExists = boundQuery<string, boolean, string>({
  table: "due",
  kind: "read",
  sql: "select kind from due where tenant_id = :tenant and kind = any(array[{:name}])",
  parameters: { name: text((name: string) => name) },
  sortKey: (name) => name,
  row: (column) => column.text(),
  outputs(rows, names) {
    const seen = new Set(rows.flat());
    return names.map((name) => seen.has(name));
  },
});
