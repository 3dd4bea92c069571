import { BlockList, isIP } from "node:net";
import { isUuid, type TenantId, type Uuid } from "../../base/ids.js";
import type { LogFilter, LogPosition, LogRow } from "../../store/audit/log-listing.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";
import { parseLineFields } from "../export/export-format.js";
import { type RowJson, readRowJson } from "../export/row-json.js";
import { Unreadable } from "../verify/raw-lines.js";

/** The characters of a time before its microseconds. */
const MILLISECONDS = "2026-11-01T08:00:00.000".length;

/**
 * Collects the newest rows of a filter from lines of exports, in the order of a list. Holds at most twice as many as it
 * is to find.
 */
export class NewestRows {
  readonly #limit: number;
  readonly #tenantId: TenantId;
  readonly #after: LogPosition | undefined;
  readonly #isMatch: (line: Buffer) => boolean;
  readonly #timeAt: number;
  #rows: LogRow[] = [];
  /** A full list takes no older rows. */
  #oldest: LogRow | undefined;

  constructor(
    tenantId: TenantId,
    filter: LogFilter & { readonly after: LogPosition | undefined; readonly limit: number },
  ) {
    this.#limit = filter.limit;
    this.#tenantId = tenantId;
    this.#after = filter.after;
    this.#isMatch = matcherOf(filter);
    this.#timeAt = `{"kind":"row","tenant_id":"${tenantId}","created_at":"`.length;
  }

  get isFull(): boolean {
    return this.rows.length === this.#limit;
  }

  /** Newest first. */
  get rows(): readonly LogRow[] {
    this.#rows = this.#rows.sort(newestFirst).slice(0, this.#limit);
    return this.#rows;
  }

  /** Takes a row from a time on and before another, if it matches. @throws {Unreadable} if it is no row of this log. */
  take(line: Buffer, { from, until }: { readonly from: Date; readonly until: Date }): void {
    const time = Date.parse(`${line.toString("latin1", this.#timeAt, this.#timeAt + MILLISECONDS)}Z`);
    if (time < from.getTime() || time >= until.getTime()) return;
    if (this.#oldest && time < this.#oldest.created_at.getTime()) return;
    if (this.#after && time > this.#after.createdAt.getTime()) return;
    if (!this.#isMatch(line)) return;
    const text = line.toString("utf8", 0, line.length - 1);
    const raw = parseLineFields(text) && readRowJson(this.#tenantId, text);
    const row = raw && listedRow(raw);
    if (!row) throw new Unreadable("a row is not one of this log");
    if (this.#after && !isBefore(row, this.#after)) return;
    this.#rows.push(row);
    if (this.#rows.length >= 2 * this.#limit) this.#oldest = this.rows.at(-1);
  }
}

function newestFirst(one: LogRow, other: LogRow): number {
  return other.created_at.getTime() - one.created_at.getTime() || (one.id < other.id ? 1 : -1);
}

/** Ids sort as PostgreSQL sorts them, byte by byte. */
function isBefore({ created_at, id }: LogRow, position: LogPosition): boolean {
  const apart = created_at.getTime() - position.createdAt.getTime();
  return apart < 0 || (apart === 0 && id < position.id);
}

const EQUAL = [
  ["entityId", "entity_id"],
  ["actorId", "actor_id"],
  ["keyId", "key_id"],
  ["outcome", "outcome"],
  ["operation", "operation"],
  ["transform", "transform"],
  ["traceId", "trace_id"],
  ["destinationHost", "destination_host"],
  ["client", "client"],
  ["code", "code"],
  ["viaId", "via_id"],
  ["actorType", "actor_type"],
  ["viaType", "via_type"],
  ["id", "id"],
] as const satisfies readonly (readonly [keyof LogFilter, keyof RowJson])[];

/**
 * Compares the text of rows: a quote within a value is escaped, so the name and value of a field are in the text only as
 * that field. Parsing each row takes twenty times as long.
 */
function matcherOf(filter: LogFilter): (line: Buffer) => boolean {
  const { entityTypes, hasReason, sourceIp } = filter;
  const fields = EQUAL.flatMap(([field, name]) => {
    const value = filter[field];
    return value === undefined ? [] : [fieldText(name, value)];
  });
  const types = entityTypes?.map((type) => fieldText("entity_type", type));
  const noReason = Buffer.from('"reason":null');
  const isInNetwork = sourceIp === undefined ? undefined : networkOf(sourceIp);
  return (line) =>
    fields.every((text) => line.includes(text)) &&
    (!types || types.some((text) => line.includes(text))) &&
    (hasReason === undefined || line.includes(noReason) !== hasReason) &&
    (!isInNetwork || isInNetwork(line));
}

function fieldText(name: keyof RowJson, value: string): Buffer {
  return Buffer.from(`"${name}":${JSON.stringify(value)}`);
}

/** Rows with an address of a network. Those of the other family, also mapped ones, are in none, as in PostgreSQL. */
function networkOf(text: string): (line: Buffer) => boolean {
  const [address = "", prefix] = text.split("/");
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  const network = new BlockList();
  network.addSubnet(address, Number(prefix ?? (family === "ipv4" ? 32 : 128)), family);
  const before = Buffer.from('"source_ip":"');
  return (line) => {
    const at = line.indexOf(before);
    if (at < 0) return false;
    const start = at + before.length;
    const found = line.toString("latin1", start, line.indexOf('"', start));
    return isIP(found) === isIP(address) && network.check(found, family);
  };
}

function listedRow(raw: RawLogRow): LogRow | undefined {
  const { micros, set_aside: _, id, ...row } = raw;
  if (!isUuid(id)) return undefined;
  return {
    id,
    created_at: new Date(Math.floor(Number(micros) / 1_000)),
    ...row,
    actor_id: uuidIn(row.actor_id),
    key_id: uuidIn(row.key_id),
    trace_id: uuidIn(row.trace_id),
    via_id: uuidIn(row.via_id),
  };
}

function uuidIn(cell: string | null): Uuid | null {
  return cell !== null && isUuid(cell) ? cell : null;
}
