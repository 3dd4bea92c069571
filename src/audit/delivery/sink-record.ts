import { type TenantId, VAULT_TENANT_ID } from "../../base/ids.js";
import { OUTCOMES, type SinkRecord } from "../../sinks/sink.js";
import type { SealRow } from "../../store/audit/audit-seals.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";
import { entryLine } from "../export/export-format.js";
import { rowJson } from "../export/row-json.js";

/** A row as sinks get it, with the fields of an export. */
export function recordOfRow(tenantId: TenantId, row: RawLogRow): SinkRecord {
  const json = rowJson(tenantId, row);
  return {
    id: row.id,
    time: json.created_at,
    name: `${row.entity_type}.${row.operation}`,
    outcome: knownOutcome(row),
    message: row.message,
    traceId: row.trace_id?.replaceAll("-", ""),
    fields: { ...json },
  };
}

function knownOutcome({ outcome }: RawLogRow): SinkRecord["outcome"] {
  return OUTCOMES.find((known) => known === outcome) ?? "allowed";
}

/** An entry of the vault's own chain, which has no signature. Its MAC is one that the vault can verify. */
export function recordOfVaultEntry(entry: SealRow): SinkRecord {
  const { number, kind, sealed_at, digest, mac, previous } = entry;
  const time = `${sealed_at.toISOString().slice(0, 23)}000Z`;
  const digests = { digest: digest.toString("hex"), mac: mac.toString("hex"), after: previous.toString("hex") };
  // The digest of a restart is a list of findings, as long as that is.
  const { digest: _, ...short } = digests;
  return {
    id: `${VAULT_TENANT_ID}/${number}`,
    time,
    name: `log.${kind}`,
    outcome: "allowed",
    message: kind === "restart" ? "Seals restarted" : "Log sealed",
    traceId: undefined,
    fields: { kind, tenant_id: VAULT_TENANT_ID, number, ...(kind === "restart" ? short : digests) },
  };
}

/** An entry of the chain. Sinks get it after its rows, which shows at the receiver whether rows are missing. */
export function recordOfSeal(tenantId: TenantId, seal: SealRow): SinkRecord {
  const { kind: _, ...line } = entryLine(seal, true);
  const time = seal.sealed_at.toISOString();
  const own = { tenant_id: tenantId, number: seal.number, rows: seal.row_count };
  return {
    id: `${tenantId}/${seal.number}`,
    time: `${time.slice(0, 23)}000Z`,
    name: `log.${seal.kind}`,
    outcome: "allowed",
    message: "Log sealed",
    traceId: undefined,
    fields: { kind: seal.kind === "minute" ? "seal" : seal.kind, ...own, ...line },
  };
}
