import { setTimeout as pause } from "node:timers/promises";
import { recordVaultEvent } from "../audit/chain/vault-log.js";
import { systemClock } from "../base/clock.js";
import { isTenantId, type TenantId } from "../base/ids.js";
import { terminal } from "../base/terminal.js";
import { RootKeyRefused } from "../crypto/root-key.js";
import { withLease } from "../store/jobs/lease.js";
import { type Sql, soleConnection } from "../store/postgres/connect.js";
import { listTenantIds } from "../store/tenancy/tenants.js";
import type { BrokenRow } from "../tenancy/broken-rows.js";
import { rotateRootKey } from "../tenancy/root-rotation.js";
import { beginRotation, finishRotation, RETIRE_AFTER_LEAST_MS, RETIRE_AFTER_MS } from "../tenancy/tenant-rotation.js";
import { openVault, type Vault } from "../vault/vault.js";
import type { CommandInput } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { UsageError } from "./usage-error.js";

const PROGRESS_EVERY_MS = 1_000;
/** A process that dies while it replaces the root key blocks others for this long. */
const LEASE_SECONDS = 10;

const WAITING = {
  elsewhere: "another process is resealing its values; waiting for it.",
  later: "all values are resealed; the old keys are kept until no process can be writing under them.",
} as const;

export async function keysRotate({ config, options, say, printResult }: CommandInput): Promise<void> {
  const chosen = [options.root, options.all, options.tenant].filter((option) => option !== undefined);
  if (chosen.length !== 1) throw new UsageError("Choose one of --root, --tenant ID and --all.");
  const tenant = readTenant(options.tenant);
  const retireAfter = readRetireAfter(options["retire-after"]);
  const mayMove = options.root === true;
  await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock, mayMove });
  await using owner = soleConnection(vault.ownerAddress);
  if (mayMove) {
    await rotateRoot(vault, owner, say, printResult);
    return;
  }
  say("Keys of the purposes fingerprint, search, proof and audit stay, because old and new results are compared.");
  const rotated = await rotateTenants(owner, tenant, { vault, retireAfter, say });
  if (rotated.length === 0) throw new UsageError("There is no such tenant.");
  printResult(rotated);
}

async function rotateRoot(
  vault: Vault,
  owner: Sql,
  say: CommandInput["say"],
  printResult: CommandInput["printResult"],
): Promise<void> {
  const { database, rootKeys } = vault;
  const waiting = setTimeout(
    () => say("Waiting for another process that is replacing the root key, or died while doing so."),
    1_000,
  );
  const { rootKey, rewrapped, broken } = await withLease(vault.ownerAddress, "root-rotation", LEASE_SECONDS, () => {
    clearTimeout(waiting);
    return rotateRootKey({ database, owner, rootKeys, say }, vault.rootKey);
  }).finally(() => clearTimeout(waiting));
  await recordVaultEvent(vault, {
    entityType: "root_key",
    entityId: rootKey.id,
    operation: "update",
    remark: `${rewrapped} keys wrapped again, ${operatorName()}`,
  });
  for (const { tenantId, purpose, version, rootKeyId } of broken) {
    say(`${tenantId}: its ${purpose} key ${version} does not open under the root key ${rootKeyId}.`);
  }
  if (broken.length === 0) {
    printResult({ root_key: rootKey.id, rewrapped });
    return;
  }
  say("Restore these keys from a backup of the database, or the root key that they name, and run this again.");
  terminal().exitCode = 1;
  printResult({
    root_key: rootKey.id,
    rewrapped,
    broken: broken.map(({ tenantId, purpose, version, rootKeyId }) => ({
      tenant_id: tenantId,
      purpose,
      version,
      root_key: rootKeyId,
    })),
  });
}

interface TenantRotation {
  readonly vault: Vault;
  /** Seconds for which old keys are kept. */
  readonly retireAfter: number;
  readonly say: CommandInput["say"];
}

async function rotateTenants(
  owner: Sql,
  tenant: TenantId | undefined,
  rotation: TenantRotation,
): Promise<Readonly<Record<string, unknown>>[]> {
  const rotated: Readonly<Record<string, unknown>>[] = [];
  for (let after: TenantId | undefined; ; ) {
    const tenants = tenant && !after ? [tenant] : tenant ? [] : await listTenantIds(owner, after);
    // Starts all rotations at once, so their waiting periods for old keys overlap.
    const begun: TenantId[] = [];
    for (const tenantId of tenants) {
      const start = await beginRotation(rotation.vault, tenantId).catch(refusal);
      if (typeof start !== "string") {
        rotated.push({ tenant_id: tenantId, ...tellRefused(tenantId, rotation.say) });
        continue;
      }
      if (start === "under way") rotation.say(`${tenantId}: an earlier rotation is under way, and is finished first.`);
      if (start !== "gone") begun.push(tenantId);
    }
    for (const tenantId of begun) rotated.push({ tenant_id: tenantId, ...(await finish(rotation, tenantId)) });
    after = tenants.at(-1);
    if (after === undefined) return rotated;
  }
}

interface Finished {
  readonly resealed: number;
  /** Number of values that do not open, for which the old keys stay. */
  readonly broken?: number;
  readonly broken_rows?: readonly BrokenRow[];
  readonly problem?: string;
}

/** Finishes the rotation of a tenant as far as possible. A problem of one tenant must not stop the others. */
async function finish({ vault, retireAfter, say }: TenantRotation, tenantId: TenantId): Promise<Finished> {
  let resealed = 0;
  let printedAt = performance.now();
  const onProgress = (table: string, count: number) => {
    resealed += count;
    if (performance.now() - printedAt < PROGRESS_EVERY_MS) return;
    printedAt = performance.now();
    say(`${tenantId}: ${resealed} rows resealed, now at ${table}.`);
  };
  const { signal } = new AbortController();
  const parts = { ...vault, clock: systemClock };
  let before = "";
  for (;;) {
    const outcome = await finishRotation(parts, tenantId, { retireAfter, onProgress, signal }).catch(refusal);
    switch (outcome.state) {
      case "done":
        say(`${tenantId}: ${resealed} rows resealed; the old keys are destroyed.`);
        return { resealed };
      case "refused":
        return { ...tellRefused(tenantId, say), resealed };
      case "broken": {
        const { count, named } = outcome.rows;
        say(
          `${tenantId}: ${resealed} rows resealed; ${count} have values that do not open, so the old keys stay. Restore these from a backup or delete them, then run this again:`,
        );
        for (const { table, key } of named) say(`${tenantId}: ${table} ${key}`);
        if (count > named.length) say(`${tenantId}: and ${count - named.length} more.`);
        terminal().exitCode = 1;
        return { resealed, broken: count, broken_rows: named };
      }
      case "elsewhere":
      case "later":
        if (outcome.state !== before) say(`${tenantId}: ${WAITING[outcome.state]}`);
        before = outcome.state;
        await pause(1_000);
    }
  }
}

function tellRefused(tenantId: TenantId, say: CommandInput["say"]): Finished {
  const problem = "its keys do not open under the root key that they name: restore them from a backup";
  say(`${tenantId}: ${problem}.`);
  terminal().exitCode = 1;
  return { resealed: 0, problem };
}

function refusal(error: unknown): { readonly state: "refused" } {
  if (error instanceof RootKeyRefused) return { state: "refused" };
  throw error;
}

function readTenant(option: string | boolean | undefined): TenantId | undefined {
  if (option === undefined) return undefined;
  const id = typeof option === "string" ? option.toLowerCase() : "";
  if (isTenantId(id)) return id;
  throw new UsageError("--tenant must be the id of a tenant. Run: cloakroom tenants list");
}

/** @returns milliseconds. */
function readRetireAfter(option: string | boolean | undefined): number {
  if (option === undefined) return RETIRE_AFTER_MS;
  const least = RETIRE_AFTER_LEAST_MS / 1_000;
  const seconds = Number(option);
  if (typeof option === "string" && /^\d+$/.test(option) && seconds >= least && seconds <= 86_400)
    return seconds * 1_000;
  throw new UsageError(`--retire-after must be a whole number of seconds from ${least} to 86400.`);
}
