import { isDeepStrictEqual } from "node:util";
import { type Authorship, changedAuthorship, newAuthorship, readAuthorship } from "../access/authorship.js";
import type { CallerTransaction, OrdinaryCallerTransaction } from "../access/caller-transaction.js";
import { requireMayChangeCode, requireMayReadRuns } from "../access/changed-code.js";
import { requireOwn } from "../access/role-rights.js";
import { NamedEntities } from "../access/stored-entities.js";
import { changesBetween } from "../audit/log-changes.js";
import type { OrdinaryTenantTransaction, TenantTransaction } from "../audit/tenant-transaction.js";
import { type Fault, invalid } from "../base/fault.js";
import { newUuid, type Uuid } from "../base/ids.js";
import { textsIn } from "../base/json.js";
import { openName, sealName } from "../crypto/sealed-name.js";
import { sealedRecord } from "../crypto/sealed-record.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { requireApplication, requireGrantableActing } from "../functions/acting-application.js";
import { requireConfigurationSize } from "../functions/configuration.js";
import { type FailedRun, readFailedRuns } from "../functions/failed-runs.js";
import { parseRuntime, type Runtime } from "../functions/runtime.js";
import { deleteFailedRuns } from "../store/functions/failed-runs.js";
import { lockFormula, readFormula } from "../store/functions/reactor-formulas.js";
import {
  deleteReactorRow,
  insertReactor,
  listReactorRows,
  lockReactor,
  namesOfReactors,
  type ReactorColumns,
  type ReactorRow,
  readReactor,
  updateReactorRow,
} from "../store/functions/reactors.js";
import { AAD_COLUMNS } from "../store/tenancy/sealed-columns.js";
import { type Formula, openFormula } from "./formula.js";
import { typedConfiguration } from "./formula-contract.js";

export type ReactorCode =
  | { readonly kind: "code"; readonly code: string }
  | { readonly kind: "formula"; readonly formulaId: Uuid };

export interface ReactorProperties {
  readonly name: string;
  readonly code: ReactorCode;
  readonly applicationId: Uuid | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  readonly runtime: Runtime | undefined;
}

/** A tenant's function, called by its id. */
export interface Reactor extends ReactorProperties, Authorship {
  readonly id: Uuid;
  readonly revision: number;
}

/** A reactor with the current version of its formula. */
export interface ShownReactor extends Reactor {
  readonly formula: Formula | undefined;
}

/**
 * The code or formula in a request; undefined for neither.
 * @throws {Fault} validation_failed for both.
 */
export function chooseCode(code: string | undefined, formulaId: Uuid | undefined): ReactorCode | undefined {
  const hasCode = code !== undefined && code !== "";
  if (hasCode && formulaId !== undefined) throw invalid("formula", "must not be given together with code");
  if (formulaId !== undefined) return { kind: "formula", formulaId };
  return hasCode ? { kind: "code", code } : undefined;
}

export function lacksCode(): Fault {
  return invalid("code", "must be given, or a formula");
}

export const reactors = new NamedEntities<ReactorRow, ShownReactor>({
  type: "reactor",
  plural: "reactors",
  read: readReactor,
  names: namesOfReactors,
  list: listReactorRows,
  remove: deleteReactorRow,
  open: withFormula,
});

export async function createReactor(
  tx: OrdinaryCallerTransaction,
  properties: ReactorProperties,
): Promise<ShownReactor> {
  requireConfigurationSize(properties.configuration);
  await requireApplication(tx, properties.applicationId);
  await requireGrantableActing(tx, properties.applicationId);
  const formula = await requireContract(tx, properties);
  const made = { ...properties, id: newUuid(), revision: 1, ...newAuthorship(tx) };
  tx.enqueue(insertReactor, { ...reactorColumns(tx.keys, made), created_by: made.createdBy });
  tx.log("reactor", made.id, "create", { changes: changesBetween(undefined, loggedReach(made)) });
  return { ...made, formula };
}

async function withFormula(tx: TenantTransaction, row: ReactorRow): Promise<ShownReactor> {
  const formula = row.formula_id ? await tx.query(readFormula, row.formula_id) : null;
  return {
    ...openReactor(tx.keys, row),
    formula: formula ? openFormula(tx.keys, formula) : undefined,
  };
}

export async function updateReactor(
  tx: OrdinaryCallerTransaction,
  id: Uuid,
  change: (current: Reactor) => ReactorProperties,
): Promise<ShownReactor> {
  const row = reactors.present(await lockReactor(tx, id));
  requireOwn(tx.caller, row.created_by);
  const current = openReactor(tx.keys, row);
  const properties = change(current);
  if (!isRenamedOnly(current, properties)) requireMayChangeCode(tx.caller, "a reactor", row.created_by);
  if (properties.configuration !== current.configuration) requireConfigurationSize(properties.configuration);
  if (properties.applicationId !== current.applicationId) await requireApplication(tx, properties.applicationId);
  await requireGrantableActing(tx, current.applicationId);
  await requireGrantableActing(tx, properties.applicationId);
  const formula = await requireContract(tx, properties);
  const next = { ...current, ...properties, ...changedAuthorship(tx) };
  const columns = reactorColumns(tx.keys, next);
  tx.enqueue(updateReactorRow, { ...columns, revision: row.revision, modified_by: next.modifiedBy });
  tx.log("reactor", id, "update", { changes: changesBetween(loggedReach(current), loggedReach(next)) });
  return { ...next, formula };
}

function isRenamedOnly(before: ReactorProperties, after: ReactorProperties): boolean {
  const rest = ({ code, applicationId, configuration, runtime }: ReactorProperties) => [
    code,
    applicationId,
    configuration,
    runtime,
  ];
  return isDeepStrictEqual(rest(before), rest(after));
}

/** What the log shows of a reactor: what it acts as and whose code it runs, without code and configuration. */
function loggedReach({ applicationId, code }: ReactorProperties) {
  return { applicationId, formulaId: code.kind === "formula" ? code.formulaId : undefined };
}

export async function deleteReactor(tx: CallerTransaction, id: Uuid): Promise<void> {
  const row = await reactors.find(tx, id);
  requireOwn(tx.caller, row.created_by);
  await reactors.delete(tx, id);
  tx.enqueue(deleteFailedRuns, id);
}

/** The reactor's failed runs of the last day, newest first. */
export async function failedRunsOfReactor(tx: CallerTransaction, id: Uuid): Promise<readonly FailedRun[]> {
  const { created_by: createdBy } = await reactors.find(tx, id);
  requireMayReadRuns(tx.caller, createdBy);
  return readFailedRuns(tx, "reactor", id);
}

/**
 * A reactor made from a formula must be configured as that asks. The formula is held until the reactor is stored: a
 * transaction that deletes it waits, and finds the reactor.
 */
async function requireContract(
  tx: OrdinaryTenantTransaction,
  { code, configuration }: ReactorProperties,
): Promise<Formula | undefined> {
  if (code.kind !== "formula") return undefined;
  const [isHeld, row] = await Promise.all([
    tx.query(lockFormula, code.formulaId),
    tx.query(readFormula, code.formulaId),
  ]);
  if (!row || !(isHeld || row.official)) throw unknownFormula();
  const formula = openFormula(tx.keys, row);
  typedConfiguration(formula, configuration);
  return formula;
}

function unknownFormula(): Fault {
  return invalid("formula.id", "must be an official formula or one of this tenant");
}

function reactorColumns(
  keys: TenantKeys,
  { id, name, code, applicationId, configuration, runtime, createdBy }: Reactor,
): ReactorColumns {
  const plain = { application_id: applicationId ?? null, formula_id: code.kind === "formula" ? code.formulaId : null };
  const definition = reactorRecord.seal(
    keys,
    { id, ...plain, created_by: createdBy },
    { code: code.kind === "code" ? code.code : undefined, configuration, runtime },
  );
  return { id, ...plain, definition, name: sealName(keys, id, name) };
}

/** What is sealed of a reactor. A reactor made from a formula has no code of its own. */
type SealedReactor = Pick<Reactor, "configuration" | "runtime"> & { readonly code: string | undefined };

export const reactorRecord = sealedRecord({
  field: "reactor",
  bound: AAD_COLUMNS.reactors,
  write: ({ code, configuration, runtime }: SealedReactor) => ({ code, configuration, runtime }),
  read: ({ code, configuration, runtime }) => ({
    code: code === undefined ? undefined : String(code),
    configuration: textsIn(configuration),
    runtime: runtime === undefined ? undefined : parseRuntime(runtime, "runtime"),
  }),
});

export function openReactor(keys: TenantKeys, row: ReactorRow): Reactor {
  const { code = "", ...sealed } = reactorRecord.open(keys, row, row.definition);
  return {
    id: row.id,
    name: openName(keys, row.id, row.name),
    code: row.formula_id ? { kind: "formula", formulaId: row.formula_id } : { kind: "code", code },
    applicationId: row.application_id ?? undefined,
    ...sealed,
    revision: row.revision,
    ...readAuthorship(row),
  };
}
