import { recordVaultEvent } from "../audit/chain/vault-log.js";
import { LocalRootKey } from "../crypto/local-root-key.js";
import { MAX_SHARES, splitRootKey } from "../crypto/shares.js";
import { soleConnection } from "../store/postgres/connect.js";
import { setRootKeyThreshold } from "../store/tenancy/root-keys.js";
import { openForCommand } from "./open-for-command.js";
import { type CommandInput, requiredText } from "./operator-command.js";
import { operatorName } from "./operator-name.js";
import { removeShares, requireNewShares, writeShares } from "./share-files.js";
import { UsageError } from "./usage-error.js";

export async function keysSplit({ config, options, say, printResult }: CommandInput): Promise<void> {
  const shares = readCount(options, "shares", MAX_SHARES);
  const threshold = readCount(options, "threshold", shares);
  const out = options.out === undefined ? undefined : requiredText(options, "out");
  if (out !== undefined) await requireNewShares(out, shares);
  await using vault = await openForCommand({ config, say });
  if (!(vault.rootKey instanceof LocalRootKey)) {
    throw new UsageError("Only a root key in a key file can be split; a service holds this one.");
  }
  const made = await splitRootKey(vault.rootKey, { shares, threshold });
  const files = out === undefined ? [] : await writeShares(out, made);
  await using owner = soleConnection(vault.ownerAddress);
  // Last, because servers ask for the recorded number of shares from then on, which must be distributed by that time.
  await setRootKeyThreshold(owner, vault.rootKey.id, threshold).catch(async (error: unknown) => {
    await removeShares(files);
    throw error;
  });
  await recordVaultEvent(vault, {
    entityType: "root_key",
    entityId: vault.rootKey.id,
    operation: "split",
    remark: `${shares} shares, of which ${threshold} restore it, ${operatorName()}`,
  });
  if (out !== undefined) {
    printResult({ root_key: vault.rootKey.id, threshold, files });
  } else {
    printResult(made.map((share, index) => ({ share: `${index + 1} of ${shares}`, text: share.reveal() })));
  }
  say(
    `Give each share to another person. Then keep ${config.rootKeyFile} offline or destroy it: a server that does not find it waits for ${threshold} shares (cloakroom keys unseal). Earlier shares of this key stay valid.`,
  );
}

function readCount(options: CommandInput["options"], name: string, most: number): number {
  const text = requiredText(options, name);
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 2 && count <= most) return count;
  throw new UsageError(`--${name} must be a whole number from 2 to ${most}.`);
}
