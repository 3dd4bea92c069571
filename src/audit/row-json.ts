import type { TenantId } from "../base/ids.js";
import type { RawLogRow } from "../store/audit-seals.js";

/** The fields of a row in exports and sinks, in this order. All but the first two are those of its digest. */
export interface RowJson extends Omit<RawLogRow, "micros" | "set_aside"> {
  readonly kind: "row";
  readonly tenant_id: TenantId;
  /** With six digits of a second. */
  readonly created_at: string;
}

export function rowJson(tenantId: TenantId, row: RawLogRow): RowJson {
  const { id, actor_id, actor_type, entity_type, entity_id, operation, message } = row;
  return {
    ...{ kind: "row", tenant_id: tenantId, created_at: writeMicros(row.micros), id },
    ...{ actor_id, actor_type, entity_type, entity_id, operation, message },
  };
}

/** Reads what {@link rowJson} wrote; undefined for anything else. */
export function readRowJson(tenantId: TenantId, text: string): RawLogRow | undefined {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) return undefined;
  const cells = new Map(Object.entries(value));
  const cell = (name: string): string | null => {
    const found: unknown = cells.get(name);
    return typeof found === "string" ? found : null;
  };
  const whole = (name: string) => cell(name) ?? "";
  const row = {
    ...{ micros: readMicros(whole("created_at")), id: whole("id") },
    ...{ actor_id: cell("actor_id"), actor_type: cell("actor_type"), set_aside: null },
    ...{ entity_type: whole("entity_type"), entity_id: whole("entity_id") },
    ...{ operation: whole("operation"), message: whole("message") },
  };
  // Also finds unknown, missing and repeated fields.
  return row.micros !== "" && JSON.stringify(rowJson(tenantId, row)) === text ? row : undefined;
}

function writeMicros(micros: string): string {
  const time = Number(micros);
  const milliseconds = Math.floor(time / 1_000);
  return `${new Date(milliseconds).toISOString().slice(0, 23)}${String(time - milliseconds * 1_000).padStart(3, "0")}Z`;
}

/** Empty if it is not a time with six digits. */
function readMicros(text: string): string {
  const time = Date.parse(`${text.slice(0, 23)}Z`);
  return Number.isNaN(time) || !/^[0-9]{3}Z$/.test(text.slice(23))
    ? ""
    : String(time * 1_000 + Number(text.slice(23, 26)));
}
