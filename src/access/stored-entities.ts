import { ANY_ENTITY_ID, type EntityType } from "../audit/log-entry.js";
import type { TenantTransaction } from "../audit/tenant-transaction.js";
import { notFound } from "../base/fault.js";
import type { Uuid } from "../base/ids.js";
import { type Page, requirePageSize } from "../base/page.js";
import type { IdListing, SizedPage } from "../store/statements/counted-page.js";
import type { Statement } from "../store/statements/statement.js";
import type { Transaction } from "../store/transactions/transaction.js";
import { listByName, type NamedKind } from "./name-search.js";

/** How the rows of entities of one kind are found, opened and deleted. */
export interface EntityRows<Row, Entity> {
  /** As the log names one, and errors with blanks. */
  readonly type: EntityType;
  readonly read: Statement<Uuid, Row | null>;
  readonly remove: Statement<Uuid, boolean>;
  open(tx: TenantTransaction, row: Row): Entity | Promise<Entity>;
}

/** Entities that a tenant keeps by id. What it reads or deletes is logged. */
export class StoredEntities<Row, Entity> {
  protected readonly rows: EntityRows<Row, Entity>;

  constructor(rows: EntityRows<Row, Entity>) {
    this.rows = rows;
  }

  /** What a statement has found of an entity. @throws {Fault} not_found. */
  present<T>(found: T | null): T {
    if (found === null) throw notFound(this.rows.type.replace("_", " "));
    return found;
  }

  /** The row of an entity, for another operation than {@link get}. @throws {Fault} not_found. */
  async find(tx: Transaction, id: Uuid): Promise<Row> {
    return this.present(await tx.query(this.rows.read, id));
  }

  /** The entity, for another operation than {@link get}. @throws {Fault} not_found. */
  async open(tx: TenantTransaction, id: Uuid): Promise<Entity> {
    return this.rows.open(tx, await this.find(tx, id));
  }

  /** @throws {Fault} not_found. */
  async get(tx: TenantTransaction, id: Uuid): Promise<Entity> {
    const entity = await this.open(tx, id);
    tx.log(this.rows.type, id, "read");
    return entity;
  }

  /** @throws {Fault} not_found. */
  async delete(tx: TenantTransaction, id: Uuid): Promise<void> {
    this.present((await tx.query(this.rows.remove, id)) || null);
    tx.log(this.rows.type, id, "delete");
  }
}

/** Pages of entities, newest first, that may be limited to some ids or names. */
export interface EntityPages<Row> extends NamedKind<Row> {
  /** As errors name several: "proxies". */
  readonly plural: string;
  readonly list: Statement<IdListing, SizedPage<Row>>;
}

/** {@link StoredEntities} with names that callers search. */
export class NamedEntities<Row, Entity> extends StoredEntities<Row, Entity> {
  readonly #pages: EntityPages<Row>;

  constructor(rows: EntityRows<Row, Entity> & EntityPages<Row>) {
    super(rows);
    this.#pages = rows;
  }

  /** @throws {Fault} validation_failed naming `size` for a page of too many bytes. */
  async list(
    tx: TenantTransaction,
    { name, ...listing }: IdListing & { readonly name: string | undefined },
  ): Promise<Page<Entity>> {
    const { items, total, bytes } =
      name === undefined
        ? await tx.query(this.#pages.list, listing)
        : await listByName(tx, this.#pages, { ...listing, name });
    requirePageSize(this.#pages.plural, bytes);
    tx.log(this.rows.type, ANY_ENTITY_ID, "list");
    return { items: await Promise.all(items.map((row) => this.rows.open(tx, row))), total };
  }
}
