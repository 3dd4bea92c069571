import { isTenantId, type TenantId } from "../../base/ids.js";
import { type AttestationRef, isMac, macOfDeletion } from "../../crypto/log-seal.js";
import type { TenantKeys } from "../../crypto/tenant-keys.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import type { LogSnapshot } from "../../store/audit/log-snapshot.js";
import type { Deletion } from "../../store/tenancy/operator-tenants.js";
import { isOwnEntry, verifiedHead } from "../chain/chain.js";
import { type Finding, Findings, readAcknowledged } from "../chain/findings.js";
import { VaultRows } from "../chain/vault-row.js";
import { BEGINNING, whyMisplaced } from "./log-walk.js";
import type { AttestedSeal, LogVerdict } from "./verify-log.js";

export interface VaultVerdict extends Pick<LogVerdict, "findings" | "findingCount" | "acknowledged"> {
  readonly attested: ReadonlyMap<TenantId, AttestedSeal & { readonly entry: number }>;
  readonly reached: number;
}

/**
 * Checks the vault's own chain of attestations and events, and the rows of the vault's own log. Reads the last seal of
 * each tenant from it.
 */
export async function verifyVault(
  snapshot: LogSnapshot,
  keys: TenantKeys,
  { hasTenants }: { readonly hasTenants: boolean },
): Promise<VaultVerdict> {
  const findings = new Findings();
  const acknowledged = new Findings();
  const attested = new Map<TenantId, AttestedSeal & { readonly entry: number }>();
  const rows = new VaultRows();
  let last: ReturnType<typeof chainLink> | undefined;
  let minute: Date | undefined;
  const head = snapshot.head && verifiedHead(keys, snapshot.head);
  const keptFrom = head?.keptFrom;
  for await (const page of snapshot.seals()) {
    for (const entry of page) {
      const at = entry.window_start;
      const link = chainLink(entry);
      const forged = isOwnEntry(keys, entry) ? undefined : `entry ${entry.number} was not made by this vault`;
      // After the removal of old entries, the first one left is from before the time of which all are kept.
      const first = !last && keptFrom && at < keptFrom ? undefined : 1;
      const problem = forged ?? whyMisplaced(link, last, { first, mayRestartSkip: true })?.detail;
      if (problem) findings.add("vault_changed", at, `in the vault's own chain, ${problem}`);
      const { subject } = entry;
      if (subject !== null && isTenantId(subject)) {
        const seal = { number: entry.row_count, minute: at, mac: entry.digest.toString("hex") };
        // An operator wrote off this deleted tenant (seal number 0): do not expect it.
        if (seal.number === 0) attested.delete(subject);
        else attested.set(subject, { ...seal, at, entry: entry.number });
      }
      if (entry.kind === "event" && !(keptFrom && at < keptFrom)) rows.expect(entry.digest, at);
      if (entry.kind === "restart") {
        const known = readAcknowledged(entry);
        findings.acknowledge(known, acknowledged);
        rows.acknowledge(known);
      }
      last = link;
      minute = at;
    }
  }
  await rows.check(snapshot.rows("all", keptFrom), findings, acknowledged);
  const { number, mac } = last ?? BEGINNING;
  const isHead = head
    ? head.number === number && Buffer.from(head.lastMac).toString("hex") === mac
    : number === 0 && !snapshot.head;
  if (!last && hasTenants) {
    findings.add("vault_changed", undefined, "the vault's own chain is empty, although there are tenants");
  }
  if (!isHead) findings.add("vault_changed", minute, "the end of the vault's own chain was modified or truncated");
  return {
    attested,
    reached: number,
    findings: findings.list,
    findingCount: findings.count,
    ...(acknowledged.count > 0 ? { acknowledged: acknowledged.list } : {}),
  };
}

function chainLink({ number, kind, mac, previous }: SealRow) {
  return { number, kind, mac: mac.toString("hex"), after: previous.toString("hex") };
}

/**
 * Finds a contradiction between a tenant's head and the vault's own chain.
 * @param entryMac reads the present MAC of a stored entry, because attestations continue during verification.
 */
export async function findHeadMismatch(
  tenantId: TenantId,
  claimed: AttestationRef,
  vault: VaultVerdict,
  entryMac: (number: number) => Promise<Buffer | undefined>,
): Promise<Finding | undefined> {
  const latest = vault.attested.get(tenantId);
  if (latest && latest.entry > claimed.number) return undefined;
  const mac = await entryMac(claimed.number);
  if (mac?.equals(claimed.mac)) return undefined;
  const detail = `the head of tenant ${tenantId} names entry ${claimed.number} of the vault's own chain, which is not there`;
  return { kind: "vault_changed", minute: claimed.at, detail };
}

/** Whether the vault itself deleted a tenant. */
export function isOwnDeletion(keys: TenantKeys, tenantId: TenantId, { at, by, mac }: Deletion): boolean {
  if (!at || !by || !mac) return false;
  const { byVersion } = keys.audit;
  return [...byVersion.keys()].some((version) =>
    isMac(mac, () => macOfDeletion(keys.audit, version, { tenantId, at, by })),
  );
}
