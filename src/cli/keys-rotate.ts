import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../base/clock.js";
import { isTenantId, type TenantId } from "../base/ids.js";
import { RootKeyRefused } from "../crypto/root-key.js";
import { connect, type Sql } from "../store/connect.js";
import { underLease } from "../store/lease.js";
import { listTenantIds } from "../store/tenants.js";
import type { BrokenRow } from "../tenancy/broken-rows.js";
import { rotateRootKey } from "../tenancy/root-rotation.js";
import { beginRotation, finishRotation, RETIRE_AFTER_LEAST_MS, RETIRE_AFTER_MS } from "../tenancy/rotation.js";
import { openVault, type Vault } from "../vault/vault.js";
import { type Command, type CommandInput, UsageError } from "./command.js";

const PROGRESS_EVERY_MS = 1_000;
/** A process that dies while it replaces the root key keeps others from it for so long. */
const LEASE_SECONDS = 10;

const WAITING = {
  elsewhere: "another process seals its values anew; waiting for it.",
  later: "all values are sealed anew; the old keys are kept until nobody can be writing under them.",
} as const;

export const keysRotate: Command = {
  summary: "Replace the root key, or the keys that tenants' values are sealed by, beside running servers",
  options: {
    root: { type: "boolean" },
    tenant: { type: "string" },
    all: { type: "boolean" },
    "retire-after": { type: "string" },
  },
  help: [
    "--root             the root key: wraps the keys of all tenants anew",
    "--tenant ID        the keys of one tenant: seals all of its values anew",
    "--all              the keys of all tenants",
    "--retire-after S   seconds that replaced keys of tenants are kept at least (120)",
    "",
    "What was cut off goes on when the same command is run again. Keys of fingerprints, search terms and cursors stay.",
  ],
  async run({ config, options, say, answer }) {
    const chosen = [options.root, options.all, options.tenant].filter((option) => option !== undefined);
    if (chosen.length !== 1) throw new UsageError("Choose one of --root, --tenant ID and --all.");
    const tenant = readTenant(options.tenant);
    const retireAfter = readRetireAfter(options["retire-after"]);
    const mayMove = options.root === true;
    await using vault = await openVault({ config, as: "command", announce: say, clock: systemClock, mayMove });
    const owner = connect(vault.ownerAddress, { connections: 1, statementTimeout: 10_000 });
    try {
      if (mayMove) {
        await rotateRoot(vault, owner, say, answer);
        return;
      }
      say("Keys of the purposes fingerprint, search and proof stay: what they made is compared with what they make.");
      const rotated = await rotateTenants(vault, owner, tenant, retireAfter, say);
      if (rotated.length === 0) throw new UsageError("There is no such tenant.");
      answer(rotated);
    } finally {
      await owner.end({ timeout: 5 });
    }
  },
};

async function rotateRoot(
  vault: Vault,
  owner: Sql,
  say: CommandInput["say"],
  answer: CommandInput["answer"],
): Promise<void> {
  const { database, rootKeys } = vault;
  const waiting = setTimeout(
    () => say("Waiting for another process that replaces the root key, or died at it."),
    1_000,
  );
  const { rootKey, rewrapped, broken } = await underLease(vault.ownerAddress, "root-rotation", LEASE_SECONDS, () => {
    clearTimeout(waiting);
    return rotateRootKey({ database, owner, rootKeys, say }, vault.rootKey);
  }).finally(() => clearTimeout(waiting));
  for (const { tenantId, purpose, version, rootKeyId } of broken) {
    say(`${tenantId}: its ${purpose} key ${version} does not open under the root key ${rootKeyId}.`);
  }
  if (broken.length === 0) {
    answer({ root_key: rootKey.id, rewrapped });
    return;
  }
  say("Restore these keys from a backup of the database, or the root key that they name, and run this again.");
  process.exitCode = 1;
  answer({
    ...{ root_key: rootKey.id, rewrapped },
    broken: broken.map(({ tenantId, purpose, version, rootKeyId }) => ({
      ...{ tenant_id: tenantId, purpose, version, root_key: rootKeyId },
    })),
  });
}

async function rotateTenants(
  vault: Vault,
  owner: Sql,
  tenant: TenantId | undefined,
  retireAfter: number,
  say: CommandInput["say"],
): Promise<Readonly<Record<string, unknown>>[]> {
  const rotated: Readonly<Record<string, unknown>>[] = [];
  for (let after: TenantId | undefined; ; ) {
    const tenants = tenant && !after ? [tenant] : tenant ? [] : await listTenantIds(owner, after);
    // All of them get their new keys at once, so that the time for which old ones are kept passes for all together.
    const begun: TenantId[] = [];
    for (const tenantId of tenants) {
      const start = await beginRotation(vault, tenantId).catch(refusal);
      if (typeof start !== "string") {
        rotated.push({ tenant_id: tenantId, ...tellRefused(tenantId, say) });
        continue;
      }
      if (start === "under way") say(`${tenantId}: an earlier rotation is under way, and is ended first.`);
      if (start !== "gone") begun.push(tenantId);
    }
    for (const tenantId of begun)
      rotated.push({ tenant_id: tenantId, ...(await finish(vault, tenantId, retireAfter, say)) });
    after = tenants.at(-1);
    if (after === undefined) return rotated;
  }
}

interface Finished {
  /** How many rows this process sealed anew. */
  readonly resealed: number;
  /** What could not be: the old keys stay for it. */
  readonly broken?: number;
  readonly broken_rows?: readonly BrokenRow[];
  readonly problem?: string;
}

/** Ends the rotation of a tenant, as far as can be. What is wrong with one tenant must not keep the others from theirs. */
async function finish(
  vault: Vault,
  tenantId: TenantId,
  retireAfter: number,
  say: CommandInput["say"],
): Promise<Finished> {
  let resealed = 0;
  let told = performance.now();
  const onProgress = (table: string, count: number) => {
    resealed += count;
    if (performance.now() - told < PROGRESS_EVERY_MS) return;
    told = performance.now();
    say(`${tenantId}: ${resealed} rows sealed anew, now at ${table}.`);
  };
  const { signal } = new AbortController();
  const parts = { ...vault, clock: systemClock };
  let before = "";
  for (;;) {
    const outcome = await finishRotation(parts, tenantId, { retireAfter, onProgress, signal }).catch(refusal);
    switch (outcome.state) {
      case "done":
        say(`${tenantId}: ${resealed} rows sealed anew; the old keys are destroyed.`);
        return { resealed };
      case "refused":
        return { ...tellRefused(tenantId, say), resealed };
      case "broken": {
        const { count, named } = outcome.rows;
        say(
          `${tenantId}: ${resealed} rows sealed anew; ${count} hold what does not open, and the old keys stay. Restore these from a backup or delete them, then run this again:`,
        );
        for (const { table, key } of named) say(`${tenantId}: ${table} ${key}`);
        if (count > named.length) say(`${tenantId}: and ${count - named.length} more.`);
        process.exitCode = 1;
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
  process.exitCode = 1;
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
