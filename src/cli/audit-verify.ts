import type { LogArchive } from "../audit/archive/log-archive.js";
import { type ArchivedRange, archivedTime } from "../audit/archive/read-month.js";
import { type ArchiveVerdict, verifyArchive } from "../audit/archive/verify-archive.js";
import { verifiedHead } from "../audit/chain/chain.js";
import type { Finding } from "../audit/chain/findings.js";
import { type AttestedSeal, type LogVerdict, type SeenSeal, verifyLog } from "../audit/verify/verify-log.js";
import { findHeadMismatch, isOwnDeletion, type VaultVerdict } from "../audit/verify/verify-vault.js";
import { MINUTE_MS } from "../base/clock.js";
import { Fault } from "../base/fault.js";
import { type TenantId, VAULT_TENANT_ID } from "../base/ids.js";
import { terminal } from "../base/terminal.js";
import type { AttestationRef } from "../crypto/log-seal.js";
import type { TenantKeys } from "../crypto/tenant-keys.js";
import { configuredArchiving } from "../server/log-archiving.js";
import { readSeal } from "../store/audit/audit-seals.js";
import { readLogSnapshot } from "../store/audit/log-snapshot.js";
import { listActiveTenants, readDeletion, sealingSince } from "../store/tenancy/operator-tenants.js";
import { StoredRights } from "../tenancy/stored-rights.js";
import type { Vault } from "../vault/vault.js";
import { verifyExportFile } from "./audit-verify-export.js";
import { verifyReceivedFile } from "./audit-verify-received.js";
import { chooseTenants } from "./chosen-tenants.js";
import { describeFinding } from "./describe-finding.js";
import { openForCommand } from "./open-for-command.js";
import type { CommandInput } from "./operator-command.js";
import { progressReporter } from "./progress.js";
import { type EarlierResult, readSeenSeals } from "./seen-seals.js";
import { UsageError } from "./usage-error.js";
import { vaultVerdict } from "./vault-verdict.js";

/** A running server seals each minute within 130 s of its start. The rest is for a restart or another replica. */
const SEALED_WITHIN_MS = 5 * MINUTE_MS;

export async function auditVerify(input: CommandInput): Promise<void> {
  const [file] = input.operands;
  const verifyFile = input.options.received === true ? verifyReceivedFile : verifyExportFile;
  if (file !== undefined) return verifyFile(file, input);
  const { config, options, say, printResult } = input;
  const earlier = typeof options.since === "string" ? await readSeenSeals(options.since) : undefined;
  const archive = options.archive === true ? requiredArchive(config) : undefined;
  await using vault = await openForCommand({ config, say });
  const { isIntact, shown } = await verifyLogs(vault, input, { earlier, archive });
  if (!isIntact) terminal().exitCode = 1;
  printResult(shown);
}

function requiredArchive(config: CommandInput["config"]): LogArchive {
  const archiving = configuredArchiving(config);
  if (typeof archiving === "object") return archiving;
  throw new UsageError("--archive needs CLOAKROOM_LOG_ARCHIVE, as the servers have it.");
}

/** The verdict on the logs of all chosen tenants, as it is printed. */
export interface LogsVerdict {
  readonly isIntact: boolean;
  readonly shown: readonly Readonly<Record<string, unknown>>[];
}

interface ComparedWith {
  readonly earlier?: EarlierResult | undefined;
  /** Absent: archived months are not read. */
  readonly archive?: LogArchive | undefined;
}

/** Verifies the logs of tenants and of the vault itself. */
export async function verifyLogs(
  vault: Vault,
  { options, say }: Pick<CommandInput, "options" | "say">,
  { earlier, archive }: ComparedWith = {},
): Promise<LogsVerdict> {
  const active = new Set(await listActiveTenants(vault.ownerAddress));
  const vaultKeys = await vault.keyring.of(VAULT_TENANT_ID);
  const own = await vaultVerdict(vault);
  const parts: Parts = { vault, vaultKeys, own, say, archive, sealing: await sealingSince(vault.ownerAddress) };
  const shown: Readonly<Record<string, unknown>>[] = [];
  const contradictions: Finding[] = [];
  let isIntact = true;
  for (const tenantId of chooseTenants(awaitedTenants(active, own, earlier), options)) {
    const verdict = active.has(tenantId)
      ? await verify(parts, tenantId, earlier?.tenants.get(tenantId))
      : await verifyGone(parts, tenantId, earlier?.tenants.has(tenantId) ?? false);
    if (!verdict) continue;
    shown.push(show(tenantId, verdict, options.json === true));
    if (verdict.findingCount > 0) isIntact = false;
    const contradiction = verdict.claimed && (await contradicted(parts, tenantId, verdict.claimed));
    if (contradiction) contradictions.push(contradiction);
  }
  const findings = [...own.findings, ...contradictions];
  if (findings.length > 0) {
    isIntact = false;
    const verdict = { lastSeal: undefined, findings, findingCount: own.findingCount + contradictions.length };
    shown.push({ ...show(VAULT_TENANT_ID, verdict, options.json === true), of: "the vault itself" });
  }
  return { isIntact, shown };
}

/** All tenants that exist, or should: by the vault's own chain, and by an earlier result. */
function awaitedTenants(
  active: ReadonlySet<TenantId>,
  { attested }: VaultVerdict,
  earlier: EarlierResult | undefined,
): readonly TenantId[] {
  const isReported = (at: Date) => earlier !== undefined && at <= earlier.until;
  const ofVault = [...attested].flatMap(([tenantId, { at }]) => (isReported(at) ? [] : tenantId));
  return [...new Set([...active, ...(earlier?.tenants.keys() ?? []), ...ofVault])];
}

interface Parts {
  readonly vault: Vault;
  readonly vaultKeys: TenantKeys;
  /** The verdict on the vault's own chain. */
  readonly own: VaultVerdict;
  readonly say: CommandInput["say"];
  /** The start of the sealing server, if one runs. */
  readonly sealing: Date | undefined;
  readonly archive: LogArchive | undefined;
}

/** The verdict on a tenant's rows, those in the archive included if it was read. */
interface TenantVerdict extends LogVerdict {
  /** The entry of the vault's own chain that the tenant's head names. */
  readonly claimed: AttestationRef | undefined;
  readonly archived: ArchivedRange | undefined;
  readonly ofArchive: ArchiveVerdict | undefined;
}

/** For a log that could not be checked, only the reason. */
type Verdict =
  | TenantVerdict
  | (Pick<LogVerdict, "lastSeal" | "findings" | "findingCount"> & { readonly claimed?: undefined });

function unchecked(finding: Finding, lastSeal?: SeenSeal): Verdict {
  return { lastSeal, findings: [finding], findingCount: 1 };
}

/** A tenant whose keys do not open does not stop the others; its earlier last seal is kept for the next comparison. */
async function verify(
  { vault, own, say, sealing, archive }: Parts,
  tenantId: TenantId,
  seen: SeenSeal | undefined,
): Promise<Verdict> {
  try {
    return await verifyTenant(vault, tenantId, say, {
      attested: own.attested.get(tenantId),
      seen,
      sealing,
      archive,
    });
  } catch (error) {
    if (!(error instanceof KeysClosed)) throw error;
    return unchecked({ kind: "keys_closed", minute: undefined, detail: error.message }, seen);
  }
}

/** The message says why. */
class KeysClosed extends Error {
  override readonly name = "KeysClosed";
}

interface KnownOfLog {
  /** The last seal that the vault's own chain names. */
  readonly attested: AttestedSeal | undefined;
  /** The last seal of an earlier result. */
  readonly seen?: SeenSeal | undefined;
  /** The start of the sealing server, if one runs. */
  readonly sealing?: Date | undefined;
  /** Absent: archived months are not read. */
  readonly archive?: LogArchive | undefined;
}

/** @throws {KeysClosed} */
export async function verifyTenant(
  vault: Vault,
  tenantId: TenantId,
  say: CommandInput["say"],
  { attested, seen, sealing, archive }: KnownOfLog,
): Promise<TenantVerdict> {
  const keys = await vault.keyring.of(tenantId).catch((error: unknown) => {
    throw new KeysClosed(whyClosed(error));
  });
  const onRows = (of: string, total: number) => progressReporter(say, `Tenant ${tenantId}${of}`, total);
  const verdict = await readLogSnapshot(vault.address, tenantId, async (snapshot) => {
    const late = new Date(snapshot.takenAt.getTime() - SEALED_WITHIN_MS);
    const sealedBy = sealing && sealing < late ? late : undefined;
    const stored = await StoredRights.read(snapshot, keys);
    const onProgress = onRows("", snapshot.sealedRows);
    const log = await verifyLog(stored.watching(snapshot), keys, { seen, attested, sealedBy, onProgress });
    const rights = stored.finish();
    const head = snapshot.head && verifiedHead(keys, snapshot.head);
    const archived = head && archivedTime(head);
    return {
      ...log,
      findings: [...log.findings, ...rights.list],
      findingCount: log.findingCount + rights.count,
      claimed: head?.attested,
      archived: archived && { ...archived, setBacks: snapshot.setBacks },
    };
  });
  if (!archive || !verdict.archived) return { ...verdict, ofArchive: undefined };
  const parts = { database: vault.database, keys, archive };
  const ofArchive = await verifyArchive(parts, verdict.archived, onRows(", archive", 0));
  return {
    ...verdict,
    ofArchive,
    findings: [...verdict.findings, ...ofArchive.findings.list],
    findingCount: verdict.findingCount + ofArchive.findings.count,
  };
}

/** Reports a tenant that no longer exists. If the vault itself deleted it, only when an earlier result named it. */
async function verifyGone(
  { vault, vaultKeys }: Parts,
  tenantId: TenantId,
  isAwaited: boolean,
): Promise<Verdict | undefined> {
  const gone = (detail: string) => unchecked({ kind: "tenant_gone", minute: undefined, detail });
  const deletion = await readDeletion(vault.ownerAddress, tenantId);
  if (!deletion) return gone("the tenant existed before, and there is no record of it");
  const isOwn = isOwnDeletion(vaultKeys, tenantId, deletion);
  if (isOwn && !isAwaited) return undefined;
  const when = deletion.at ? `at ${deletion.at.toISOString()}` : "without a time";
  const by = deletion.by ? `by application ${deletion.by}` : "without a name";
  const proof = isOwn ? "" : "; this vault did not delete it";
  return gone(
    `the tenant existed before: it is recorded as deleted, ${when} ${by}, and its log is gone with it${proof}`,
  );
}

function contradicted(
  { vault, own }: Parts,
  tenantId: TenantId,
  claimed: AttestationRef,
): Promise<Finding | undefined> {
  return findHeadMismatch(tenantId, claimed, own, async (number) => {
    const entry = await vault.database.of(VAULT_TENANT_ID).bulk((tx) => tx.query(readSeal, number));
    return entry?.mac;
  });
}

function whyClosed(error: unknown): string {
  if (error instanceof Fault && error.code === "unauthenticated") return "the tenant's keys do not exist any more";
  if (!(error instanceof Fault)) return "the tenant's keys were changed, or some of them are missing";
  const reason = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `the tenant's keys could not be opened${reason}`;
}

function show(tenantId: TenantId, verdict: Verdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const { findings, lastSeal } = verdict;
  return {
    tenant_id: tenantId,
    intact: verdict.findingCount === 0,
    ...("rows" in verdict ? showCounts(verdict) : {}),
    ...(lastSeal ? { last_seal: asJson ? lastSeal : `${lastSeal.number} of ${lastSeal.minute.toISOString()}` } : {}),
    ...("rows" in verdict ? showHistory(verdict, asJson) : {}),
    finding_count: verdict.findingCount,
    findings: asJson ? findings : findings.map(describeFinding).join(""),
  };
}

function showCounts(verdict: TenantVerdict): Readonly<Record<string, unknown>> {
  const { rows, seals, unsealedRows, keptFrom, archived, ofArchive } = verdict;
  return {
    rows,
    seals,
    unsealed_rows: unsealedRows,
    ...(keptFrom ? { kept_from: keptFrom.toISOString() } : {}),
    ...(archived ? { archived_from: archived.from.toISOString() } : {}),
    ...(ofArchive ? { archived_months: ofArchive.months, archived_rows: ofArchive.rows } : {}),
  };
}

/** Events that are not findings: the log's time was set back, or an operator continued a broken chain. */
function showHistory({ setBacks, acknowledged }: LogVerdict, asJson: boolean): Readonly<Record<string, unknown>> {
  const shown = setBacks?.map(({ at, to }) => ({ at: at.toISOString(), to: to.toISOString() }));
  return {
    ...(shown ? { clock_set_back: shown } : {}),
    ...(acknowledged ? { acknowledged: asJson ? acknowledged : acknowledged.map(describeFinding).join("") } : {}),
  };
}
