import { newUuid } from "../../base/ids.js";
import type { Sql } from "../postgres/connect.js";

type RunQuery = <T>(query: (sql: Sql) => PromiseLike<T>) => Promise<T>;

export interface SharedLeasesOptions {
  readonly name: string;
  readonly parts: number;
  readonly seconds: number;
}

interface LeaseRow {
  readonly name: string;
  readonly isOwn: boolean;
  readonly isFree: boolean;
}

/**
 * Leases of the parts of some work, numbered from 0, which replicas share evenly. Each replica that takes part has a row
 * of its own beside the leases, by which all know how many they are. A replica takes free parts up to its share, and gives
 * up what it has beyond it. The parts of a replica that died are free after `seconds`.
 */
export class SharedLeases {
  readonly #run: RunQuery;
  readonly #name: string;
  readonly #parts: number;
  readonly #seconds: number;
  readonly #holder = newUuid();
  #held: readonly number[] = [];
  /** The time on the clock of performance.now() until which they are held without asking the database. */
  #freshUntil = Number.NEGATIVE_INFINITY;

  constructor(run: RunQuery, { name, parts, seconds }: SharedLeasesOptions) {
    this.#run = run;
    this.#name = name;
    this.#parts = parts;
    this.#seconds = seconds;
  }

  /** Acquires and renews. Asks the database once per quarter of the leases' time. @returns the parts that it holds. */
  async hold(): Promise<readonly number[]> {
    const asked = performance.now();
    if (asked < this.#freshUntil) return this.#held;
    this.#freshUntil = Number.NEGATIVE_INFINITY;
    this.#held = await this.#run((sql) => this.#acquire(sql));
    this.#freshUntil = asked + this.#seconds * 250;
    return this.#held;
  }

  /** Releases all. Never fails: without a database they expire. */
  async release(): Promise<void> {
    if (this.#freshUntil === Number.NEGATIVE_INFINITY) return;
    this.#freshUntil = Number.NEGATIVE_INFINITY;
    this.#held = [];
    const [prefix, holder] = [`${this.#name} %`, this.#holder];
    await this.#run((sql) => sql`delete from leases where name like ${prefix} and holder = ${holder}`).catch(() => {});
  }

  async #acquire(sql: Sql): Promise<readonly number[]> {
    const duration = `${this.#seconds} seconds`;
    // As with a single lease, an expiry far ahead was written while the database's clock was ahead.
    const rows = await sql<LeaseRow[]>`
      select name, holder = ${this.#holder} as "isOwn",
        until < clock_timestamp() or until > clock_timestamp() + 2 * ${duration}::interval as "isFree"
      from leases where name like ${`${this.#name} %`}`;
    const byName = new Map(rows.map((row) => [row.name, row]));
    const replicas = rows.filter(({ name, isOwn }) => name.startsWith(this.#replicas) && !isOwn);
    const others = replicas.filter(({ isFree }) => !isFree).length;
    const share = Math.ceil(this.#parts / (others + 1));
    const all = Array.from({ length: this.#parts }, (_, part) => part);
    const own = all.filter((part) => byName.get(this.#nameOf(part))?.isOwn);
    const free = all.filter((part) => !own.includes(part) && (byName.get(this.#nameOf(part))?.isFree ?? true));
    const wanted = [...own, ...free].slice(0, share);
    const gone = replicas.filter(({ isFree }) => isFree).map(({ name }) => name);
    const surplus = own.filter((part) => !wanted.includes(part)).map((part) => this.#nameOf(part));
    if (surplus.length > 0) await sql`delete from leases where name = any(${surplus}) and holder = ${this.#holder}`;
    if (gone.length > 0) await sql`delete from leases where name = any(${gone}) and until < clock_timestamp()`;
    const taken = await this.#take(sql, [
      `${this.#replicas}${this.#holder}`,
      ...wanted.map((part) => this.#nameOf(part)),
    ]);
    return wanted.filter((part) => taken.has(this.#nameOf(part)));
  }

  async #take(sql: Sql, names: readonly string[]): Promise<ReadonlySet<string>> {
    const duration = `${this.#seconds} seconds`;
    const [{ until } = { until: new Date(0) }] = await sql<{ until: Date }[]>`
      select clock_timestamp() + ${duration}::interval as until`;
    // In the order of their names, because replicas take them at the same time.
    const leases = names.toSorted().map((name) => ({ name, holder: this.#holder, until }));
    const rows = await sql<{ name: string }[]>`
      insert into leases ${sql(leases)}
      on conflict (name) do update set holder = excluded.holder, until = excluded.until
      where leases.until < excluded.until - ${duration}::interval or leases.holder = excluded.holder
        or leases.until > excluded.until + ${duration}::interval
      returning name`;
    return new Set(rows.map(({ name }) => name));
  }

  #nameOf(part: number): string {
    return `${this.#name} ${part}`;
  }

  get #replicas(): string {
    return `${this.#name} replica `;
  }
}
