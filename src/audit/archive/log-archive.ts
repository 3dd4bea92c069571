import { Reason } from "../../base/fault.js";
import type { TenantId } from "../../base/ids.js";
import { monthName } from "../chain/log-months.js";

/** Where months of logs are past their retention. Errors have messages for the operator. */
export interface LogArchive {
  /** For operators. */
  readonly name: string;
  /** Writes a new file, which is there whole or not at all. */
  write(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  read(name: string): AsyncIterable<Uint8Array>;
}

/**
 * What happens to rows past their retention. `off`: they are removed, also in logs that have archived months. Absent: they
 * are removed, except in these, because a server may lack the setting by mistake.
 */
export type Archiving = LogArchive | "off" | undefined;

/**
 * A file of the archive is not there, cannot be read or written, or is not what the vault wrote. The operator's log shows
 * its message.
 */
export class ArchiveFailure extends Reason {
  /** The archive itself fails, so other files will too. */
  readonly isDown: boolean;

  constructor(message: string, { isDown, cause }: { readonly isDown: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.isDown = isDown;
  }
}

/** Milliseconds after which an archive that sends nothing counts as down. */
const SILENT_MS = 30_000;

export function archivedFile(tenantId: TenantId, month: Date): string {
  return `cloakroom-log-${tenantId}-${monthName(month)}.jsonl`;
}

/** The bytes of a file. @throws {ArchiveFailure} if the archive does not send them all. */
export async function* readArchive(archive: LogArchive, name: string): AsyncGenerator<Buffer> {
  const pieces = archive.read(name)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await beforeSilence(pieces.next()).catch((cause: unknown) => {
        throw new ArchiveFailure(`${name} cannot be read: ${errorMessage(cause)}`, { isDown: true, cause });
      });
      if (next.done) return;
      const { buffer, byteOffset, length } = next.value;
      yield Buffer.from(buffer, byteOffset, length);
    }
  } finally {
    // Not awaited: a silent archive would end this only when it speaks.
    pieces.return?.().catch(() => {});
  }
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : "unknown error";
}

async function beforeSilence<T>(awaited: Promise<T>): Promise<T> {
  const silence = Promise.withResolvers<never>();
  const timer = setTimeout(() => silence.reject(new Error(`nothing came for ${SILENT_MS / 1_000} seconds`)), SILENT_MS);
  try {
    return await Promise.race([awaited, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}
