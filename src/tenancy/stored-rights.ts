import { isApplicationType } from "../access/permissions.js";
import { openRights } from "../access/sealed-rights.js";
import { Findings } from "../audit/chain/findings.js";
import { readChanges } from "../audit/log-changes.js";
import { MINUTE_MS } from "../base/clock.js";
import { SealBroken } from "../crypto/sealed.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import type { LogSnapshot } from "../store/audit/log-snapshot.js";
import type { RawLogRow } from "../store/audit/raw-log.js";
import type { RightsRow } from "../store/audit/rights-rows.js";
import { openSealedRights, requireSealedRole } from "./profile.js";

interface StoredEntity {
  /** Undefined: its rights never change. */
  readonly revision: number | undefined;
  /** The latest in the log, with its minute. */
  logged?: { readonly revision: number; readonly minute: Date };
  deleted?: Date;
}

/**
 * Compares stored rights with what the log says of them. Every seal of an earlier row opens, so the owner of the database can
 * put a row back that rights were taken away from; but not take the later rows out of the log.
 */
export class StoredRights {
  readonly #entities = new Map<string, StoredEntity>();
  readonly #findings = new Findings();

  static async read(snapshot: LogSnapshot, keys: TenantKeys): Promise<StoredRights> {
    const stored = new StoredRights();
    for await (const found of snapshot.rightsRows()) stored.#add(found, keys);
    return stored;
  }

  #add(found: RightsRow, keys: TenantKeys): void {
    const name = entityName(found.entityType, found.row.id);
    try {
      this.#entities.set(name, { revision: revisionOf(found, keys) });
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      this.#findings.add("rights_changed", undefined, `the row of the ${name} was not written by this vault`);
    }
  }

  /** The snapshot, each row of whose log is looked at on its way to who reads it. */
  watching(snapshot: LogSnapshot): LogSnapshot {
    const see = (row: RawLogRow) => this.#see(row);
    return {
      ...snapshot,
      async *rows(group, from) {
        for await (const page of snapshot.rows(group, from)) {
          for (const row of page) see(row);
          yield page;
        }
      },
    };
  }

  /** Call it after the log was read. */
  finish(): Findings {
    for (const [name, { revision, logged, deleted }] of this.#entities) {
      if (deleted) {
        this.#findings.add("rights_changed", deleted, `the ${name} was deleted, and its row is there again`);
      } else if (logged && revision !== undefined && revision < logged.revision) {
        const detail = `the rights of the ${name} are those from before a change that the log has`;
        this.#findings.add("rights_changed", logged.minute, detail);
      }
    }
    return this.#findings;
  }

  #see({ entity_type, entity_id, operation, outcome, changes, micros }: RawLogRow): void {
    if (outcome !== "allowed" || (operation !== "update" && operation !== "delete")) return;
    const entity = this.#entities.get(entityName(entity_type, entity_id));
    if (!entity) return;
    const minute = new Date(Math.floor(Number(micros) / 1_000 / MINUTE_MS) * MINUTE_MS);
    if (operation === "delete") entity.deleted = minute;
    const revision = readChanges(typeof changes === "string" ? changes : null).find(
      ({ field }) => field === "revision",
    );
    if (typeof revision?.after !== "number" || revision.after <= (entity.logged?.revision ?? 0)) return;
    entity.logged = { revision: revision.after, minute };
  }
}

/** Such as `application key 01a2...`. */
function entityName(entityType: string, id: string): string {
  return `${entityType.replace("_", " ")} ${id}`;
}

/** @throws {SealBroken} if no server wrote the row. */
function revisionOf(found: RightsRow, keys: TenantKeys): number | undefined {
  if (found.entityType === "member") {
    requireSealedRole(keys, found.row);
    return openSealedRights(keys, found.row).revision;
  }
  if (found.entityType !== "application") return undefined;
  const { row } = found;
  if (!isApplicationType(row.type)) throw new SealBroken("the type of an application was changed in the database");
  return openRights(keys, { ...row, type: row.type }, row.definition).revision;
}
