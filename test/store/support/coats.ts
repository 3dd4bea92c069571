import { boundQuery, boundWrite } from "../../../src/store/bound-statement.js";
import { text, time } from "../../../src/store/parameter.js";

/** The simplest thing that a tenant can store: a named row. `due` has room for it, and nothing else stands there at that time. */
export const HUNG_AT = new Date("2001-01-01T00:00:00Z");

const COAT = { name: text((name: string) => name), at: time((_: string) => HUNG_AT) };

/** Fails with a unique violation when the name is taken. */
export const hangCoat = boundWrite<string>({
  table: "due",
  sql: "insert into due (tenant_id, kind, due_at) values {(:tenant, :name, :at)}",
  parameters: COAT,
  sortKey: (name) => name,
});

/** Answers whether the name was free. */
export const hangIfFree = boundQuery<string, boolean, string>({
  table: "due",
  kind: "write",
  hasWritten: (wasFree) => wasFree,
  sql: "insert into due (tenant_id, kind, due_at) values {(:tenant, :name, :at)} on conflict do nothing returning kind",
  parameters: COAT,
  sortKey: (name) => name,
  row: (column) => column.text(),
  answers(rows, names) {
    const hung = new Set(rows.flat());
    return names.map((name) => hung.delete(name));
  },
});

/** Answers whether a coat of this name hangs there. */
export const seeCoat = boundQuery<string, boolean, string>({
  table: "due",
  kind: "read",
  sql: "select kind from due where tenant_id = :tenant and kind = any(array[{:name}])",
  parameters: { name: text((name: string) => name) },
  sortKey: (name) => name,
  row: (column) => column.text(),
  answers(rows, names) {
    const seen = new Set(rows.flat());
    return names.map((name) => seen.has(name));
  },
});
