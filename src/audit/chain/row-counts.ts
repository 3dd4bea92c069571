import { DAY_MS, HOUR_MS } from "../../base/clock.js";
import { parseUuid } from "../../base/ids.js";
import type { Cell } from "../../crypto/row-digest.js";
import type { KeyUse } from "../../store/access/application-keys.js";
import type { ActorCount, LogCount } from "../../store/audit/log-counts.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";

/** The words of rows are short. Longer ones, which only an owner of the database can write, must not break an index. */
const MAX_WORD = 64;

/** Rows of the log, counted by what they say. Rows that are counted alike share a number, however many they are. */
export class RowCounts {
  readonly #counts = new Map<string, LogCount & { n: number }>();
  readonly #actors = new Map<string, ActorCount & { n: number }>();
  /** Milliseconds of the last row, by key or session. */
  readonly #keys = new Map<string, number>();

  add(row: RawLogRow): void {
    const at = Number(row.micros) / 1_000;
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const [operation, entityType] = [listedWord(row.operation), listedWord(row.entity_type)];
    const [outcome, shown] = [listedWord(row.outcome), listedWord(row.transform)];
    const key = `${hour} ${operation} ${entityType} ${outcome} ${shown}`;
    const count = this.#counts.get(key);
    if (count) count.n += 1;
    else this.#counts.set(key, { at: new Date(hour), operation, entityType, outcome, shown, n: 1 });
    if (row.key_id !== null && row.actor_type === "application") this.#keys.set(row.key_id, at);
    if (row.actor_id !== null) this.#addActor(at, row, outcome, shown);
  }

  /** By hour. */
  get rows(): readonly LogCount[] {
    return [...this.#counts.values()];
  }

  /** By day. */
  get actors(): readonly ActorCount[] {
    return [...this.#actors.values()];
  }

  /** When each key or session left its last row. */
  get keyUses(): readonly KeyUse[] {
    return [...this.#keys].flatMap(([key, at]) => {
      const id = parseUuid(key);
      return id ? [{ id, at: new Date(at) }] : [];
    });
  }

  #addActor(at: number, { actor_id, actor_type }: RawLogRow, outcome: string, shown: string): void {
    const day = Math.floor(at / DAY_MS) * DAY_MS;
    const key = `${day} ${actor_id} ${outcome} ${shown}`;
    const count = this.#actors.get(key);
    if (count) {
      count.n += 1;
      return;
    }
    const actorId = parseUuid(actor_id ?? "");
    if (!actorId) return;
    this.#actors.set(key, { day: new Date(day), actorType: listedWord(actor_type), actorId, outcome, shown, n: 1 });
  }
}

function listedWord(text: Cell): string {
  return typeof text === "string" ? text.slice(0, MAX_WORD) : "";
}
