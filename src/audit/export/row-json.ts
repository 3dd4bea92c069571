import type { TenantId } from "../../base/ids.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";

/** The fields of a row in exports and sinks, in this order. All but the first two are those of its digest. */
export interface RowJson extends Omit<RawLogRow, "micros" | "set_aside"> {
  readonly kind: "row";
  readonly tenant_id: TenantId;
  /** With six digits of a second. */
  readonly created_at: string;
}

export function rowJson(tenantId: TenantId, row: RawLogRow): RowJson {
  const { id, actor_id, actor_type, entity_type, entity_id, operation, message, key_id, source_ip, client } = row;
  const { trace_id, outcome, code, transform, destination_host, via_type, via_id, reason, changes } = row;
  return {
    kind: "row",
    tenant_id: tenantId,
    created_at: writeMicros(row.micros),
    id,
    actor_id,
    actor_type,
    entity_type,
    entity_id,
    operation,
    message,
    key_id,
    source_ip,
    client,
    trace_id,
    outcome,
    code,
    transform,
    destination_host,
    via_type,
    via_id,
    reason,
    changes,
  };
}

/** Reads what {@link rowJson} wrote; undefined for anything else. */
export function readRowJson(tenantId: TenantId, text: string): RawLogRow | undefined {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) return undefined;
  const cell = (name: keyof RowJson): string | null => {
    const found: unknown = Reflect.get(value, name);
    return typeof found === "string" ? found : null;
  };
  const whole = (name: keyof RowJson) => cell(name) ?? "";
  const row = {
    micros: readMicros(whole("created_at")),
    id: whole("id"),
    set_aside: null,
    actor_id: cell("actor_id"),
    actor_type: cell("actor_type"),
    entity_type: whole("entity_type"),
    entity_id: whole("entity_id"),
    operation: whole("operation"),
    message: whole("message"),
    key_id: cell("key_id"),
    source_ip: cell("source_ip"),
    client: cell("client"),
    trace_id: cell("trace_id"),
    outcome: cell("outcome"),
    code: cell("code"),
    transform: cell("transform"),
    destination_host: cell("destination_host"),
    via_type: cell("via_type"),
    via_id: cell("via_id"),
    reason: cell("reason"),
    changes: cell("changes"),
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
  const isMicros = !Number.isNaN(time) && /^[0-9]{3}Z$/.test(text.slice(23));
  return isMicros ? String(time * 1_000 + Number(text.slice(23, 26))) : "";
}
