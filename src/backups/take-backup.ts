import { createHash } from "node:crypto";
import { recordVaultEvent } from "../audit/chain/vault-log.js";
import { readBuildVersion } from "../base/build-version.js";
import { newUuid, VAULT_TENANT_ID } from "../base/ids.js";
import { logSigningKey } from "../crypto/log-signing.js";
import { exportVault } from "../vault/export-vault.js";
import type { Vault } from "../vault/vault.js";
import type { BackupTarget } from "./backup-target.js";
import { backupName, EXPORT_ENDING, MANIFEST_ENDING, type Manifest, manifestLine } from "./manifest.js";

export interface BackupOptions {
  /** The person who takes it, for the vault's own log. */
  readonly by: string;
  readonly onProgress: (bytes: number) => void;
}

/**
 * Takes a backup of all stored data, as of one moment. It counts once its manifest is there, which is written last. The
 * vault's own log says that data was exported, before, and that the backup is complete, after, with its checksum.
 */
export async function takeBackup(vault: Vault, target: BackupTarget, options: BackupOptions): Promise<Manifest> {
  const { by, onProgress } = options;
  const vaultKeys = await vault.keyring.of(VAULT_TENANT_ID);
  const id = newUuid();
  const exported = { entityType: "export", entityId: id, operation: "create" } as const;
  await recordVaultEvent(vault, { ...exported, remark: `all stored data for a backup, ${by}` });
  const manifest = await exportVault(vault, onProgress, async ({ snapshot, file, rows }) => {
    const name = backupName(snapshot.takenAt, id.slice(-8));
    const written = new Hashed(file);
    await target.write(`${name}${EXPORT_ENDING}`, written);
    const described = {
      name,
      vault: logSigningKey(vaultKeys.audit, VAULT_TENANT_ID).fingerprint,
      taken_at: snapshot.takenAt.toISOString(),
      position: snapshot.position,
      server_version: readBuildVersion().version,
      postgres_version: snapshot.postgresVersion,
      migrations: snapshot.migrations,
      root_keys: snapshot.rootKeys.map((row) => row.id),
      rows,
      ...written.result(),
    };
    await target.write(`${name}${MANIFEST_ENDING}`, once(manifestLine(described)));
    return { format: "cloakroom-backup-1", ...described } as const;
  });
  const taken = { entityType: "backup", entityId: id, operation: "create" } as const;
  await recordVaultEvent(vault, { ...taken, remark: `${manifest.name} (SHA-256 ${manifest.sha256}), ${by}` });
  return manifest;
}

/** Passes bytes on, once, and hashes them. */
class Hashed implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #hash = createHash("sha256");
  #bytes = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#source) {
      this.#hash.update(piece);
      this.#bytes += piece.length;
      yield piece;
    }
  }

  result(): Pick<Manifest, "bytes" | "sha256"> {
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
