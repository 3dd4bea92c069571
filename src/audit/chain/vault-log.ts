import { newUuid, type TenantId } from "../../base/ids.js";
import { writeVaultLog } from "../../store/audit/audit-logs.js";
import { insertSeal, moveChainHead } from "../../store/audit/audit-seals.js";
import type { RawLogRow } from "../../store/audit/raw-log.js";
import { EMPTY_CONTEXT, OPERATOR_CONTEXT } from "../audit-context.js";
import type { TenantParts } from "../tenant-database.js";
import type { TenantTransaction } from "../tenant-transaction.js";
import { appendToVaultChain, nextPosition } from "./attestations.js";
import { ChainConflict, readChain, signHead, signMark } from "./chain.js";
import { unsigned } from "./sign-seals.js";
import { vaultRowDigest } from "./vault-row.js";

/** What rows of the vault's own log are about, and how their messages name it. log-entry.ts has the words of tenants' logs. */
const ENTITIES = {
  backup: "Backup",
  export: "Export",
  reactor_formula: "Reactor Formula",
  root_key: "Root Key",
  server: "Server",
  tenant: "Tenant",
} as const;

const OPERATIONS = {
  create: "created",
  delete: "deleted",
  split: "split",
  start: "started",
  stop: "stopped",
  update: "replaced",
} as const;

/** Something that concerns the whole vault, and no tenant alone. */
export interface VaultEvent {
  readonly entityType: keyof typeof ENTITIES;
  readonly entityId: string;
  readonly operation: keyof typeof OPERATIONS;
  /** The person or server that did it, or a number. Never a secret. */
  readonly remark: string;
  /** Servers do it by themselves. Absent: an operator's command does. */
  readonly isByServer?: boolean;
}

/** The row and its entry of the vault's own chain are written together, so it is sealed from the beginning. */
export function recordVaultEvent(parts: TenantParts, event: VaultEvent): Promise<void> {
  return appendToVaultChain(parts, 20, (tx) => append(tx, event));
}

/** Records that a tenant was created or deleted: its own log is deleted with it. */
export function recordTenantEvent(
  parts: TenantParts,
  operation: "create" | "delete",
  tenantId: TenantId,
  by: Pick<VaultEvent, "remark" | "isByServer">,
): Promise<void> {
  return recordVaultEvent(parts, { entityType: "tenant", entityId: tenantId, operation, ...by });
}

async function append(tx: TenantTransaction, event: VaultEvent): Promise<void> {
  const { entityType, entityId, operation, remark, isByServer = false } = event;
  const draft = {
    id: newUuid(),
    actor: undefined,
    context: isByServer ? EMPTY_CONTEXT : OPERATOR_CONTEXT,
    entityType,
    entityId,
    operation,
    message: `${ENTITIES[entityType]} ${OPERATIONS[operation]}: ${remark}`,
    outcome: "allowed",
    code: undefined,
    transform: undefined,
    changes: undefined,
    event: undefined,
  };
  const row: RawLogRow = {
    micros: String(tx.now.getTime() * 1_000),
    id: draft.id,
    actor_id: null,
    actor_type: null,
    entity_type: entityType,
    entity_id: entityId,
    operation,
    message: draft.message,
    key_id: null,
    source_ip: null,
    client: draft.context.client ?? null,
    trace_id: null,
    outcome: draft.outcome,
    code: null,
    transform: null,
    destination_host: null,
    changes: null,
    via_type: null,
    via_id: null,
    reason: null,
    set_aside: null,
  };
  const chain = await readChain(tx);
  const { number, previous } = nextPosition(chain);
  const mark = { kind: "event", at: tx.now, number, count: 1, previous, subject: undefined } as const;
  const entry = signMark(tx.keys, { ...mark, digest: vaultRowDigest(row) });
  const head = signHead(tx.keys, {
    number,
    lastMac: entry.mac,
    keptFrom: chain.head?.keptFrom,
    attested: undefined,
  });
  writeVaultLog(tx, draft);
  tx.enqueue(insertSeal, unsigned(entry));
  if (!(await tx.query(moveChainHead, { before: chain.stored?.mac, head }))) throw new ChainConflict();
}
