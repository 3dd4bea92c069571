import { MINUTE_MS } from "../../base/clock.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";

export function minuteStart({ micros }: Pick<RawLogRow, "micros">): Date {
  return new Date(Math.floor(Number(micros) / 1_000 / MINUTE_MS) * MINUTE_MS);
}

export class MinuteCounts {
  readonly #list: { readonly minute: Date; count: number }[] = [];

  get list(): readonly { readonly minute: Date; readonly count: number }[] {
    return this.#list;
  }

  add(row: RawLogRow): void {
    const minute = minuteStart(row);
    const last = this.#list.at(-1);
    if (last?.minute.getTime() === minute.getTime()) last.count += 1;
    else this.#list.push({ minute, count: 1 });
  }
}
