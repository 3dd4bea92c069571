import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../base/clock.js";
import { isTenantId, type TenantId } from "../base/ids.js";
import { connect, type Sql } from "../store/connect.js";
import { listTenantIds } from "../store/tenants.js";
import { rotateRootKey } from "../tenancy/root-rotation.js";
import { beginRotation, finishRotation, RETIRE_AFTER_LEAST_MS, RETIRE_AFTER_MS } from "../tenancy/rotation.js";
import { openVault, type Vault } from "../vault.js";
import { type Command, type CommandInput, UsageError } from "./command.js";

const PROGRESS_EVERY_MS = 1_000;

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
        const { database, rootKeys } = vault;
        const { rootKey, rewrapped } = await rotateRootKey({ database, owner, rootKeys, say }, vault.rootKey);
        answer({ root_key: rootKey.id, rewrapped });
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
      const start = await beginRotation({ ...vault, clock: systemClock }, vault.rootKey, tenantId);
      if (start === "under way") say(`${tenantId}: an earlier rotation is under way, and is ended first.`);
      if (start !== "gone") begun.push(tenantId);
    }
    for (const tenantId of begun) {
      const resealed = await finish(vault, tenantId, retireAfter, say);
      rotated.push({ tenant_id: tenantId, resealed });
    }
    after = tenants.at(-1);
    if (after === undefined) return rotated;
  }
}

/** @returns how many rows this process sealed anew. */
async function finish(
  vault: Vault,
  tenantId: TenantId,
  retireAfter: number,
  say: CommandInput["say"],
): Promise<number> {
  let total = 0;
  let told = performance.now();
  const onProgress = (table: string, resealed: number) => {
    total += resealed;
    if (performance.now() - told < PROGRESS_EVERY_MS) return;
    told = performance.now();
    say(`${tenantId}: ${total} rows sealed anew, now at ${table}.`);
  };
  const { signal } = new AbortController();
  const parts = { ...vault, clock: systemClock };
  let before = "";
  for (;;) {
    const outcome = await finishRotation(parts, tenantId, { retireAfter, onProgress, signal });
    if (outcome === "done") break;
    if (outcome !== before) say(`${tenantId}: ${WAITING[outcome]}`);
    before = outcome;
    await pause(1_000);
  }
  say(`${tenantId}: ${total} rows sealed anew; the old keys are destroyed.`);
  return total;
}

function readTenant(option: string | boolean | undefined): TenantId | undefined {
  if (option === undefined) return undefined;
  if (typeof option === "string" && isTenantId(option)) return option;
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
