import { type FileHandle, open } from "node:fs/promises";
import { newUuid } from "../../base/ids.js";
import { isJsonObject, type Json } from "../../base/json.js";
import { BATCH_ROWS } from "../../token-files/import-batch.js";
import { isDiskFullError } from "../new-file.js";
import { UsageError } from "../usage-error.js";
import { RunLock } from "./run-lock.js";

/**
 * The file with the result of each row, in their order, and the ids of import and tenant in its first line. It says where
 * a run goes on after a kill: at the last batch whose results are complete in it. Only its owner can read it.
 */
export class ImportResults implements AsyncDisposable {
  readonly importId: string;
  readonly rowsBefore: number;
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #lock: RunLock;

  private constructor(
    file: FileHandle,
    path: string,
    lock: RunLock,
    { importId, rowsBefore }: Pick<ImportResults, "importId" | "rowsBefore">,
  ) {
    this.#file = file;
    this.#path = path;
    this.#lock = lock;
    this.importId = importId;
    this.rowsBefore = rowsBefore;
  }

  /** @throws {UsageError} if another run writes the file, or it has no results of an import into the tenant. */
  static async open(path: string, tenantId: string): Promise<ImportResults> {
    const lock = takeLock(path);
    try {
      const file = await open(path, "a+", 0o600).catch(() => {
        throw new UsageError(`--results ${path} cannot be written.`);
      });
      const { importId, kept, rows } = await readStart(file, path, tenantId).catch(async (error: unknown) => {
        await file.close();
        throw error;
      });
      await file.truncate(kept);
      const start = { importId: importId ?? newUuid(), rowsBefore: rows };
      const results = new ImportResults(file, path, lock, start);
      if (importId === undefined) await results.write([{ import_id: results.importId, tenant_id: tenantId }]);
      return results;
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  /** @throws {UsageError} if the disk is full. What is stored without its results gets them in the next run. */
  async write(lines: readonly object[]): Promise<void> {
    await this.#file.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join("")).catch((error: unknown) => {
      if (!isDiskFullError(error)) throw error;
      throw new UsageError(
        `--results ${this.#path} cannot be written: its disk is full. Free space, and run this again.`,
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    this.#lock[Symbol.dispose]();
  }
}

interface Start {
  readonly importId: string | undefined;
  /** Bytes up to the end of the last complete batch. */
  readonly kept: number;
  readonly rows: number;
}

/** Reads the file in pieces: a million results take 150 MB. */
async function readStart(file: FileHandle, path: string, tenantId: string): Promise<Start> {
  let bytes = 0;
  let lines = 0;
  let first = Buffer.alloc(0);
  let kept = 0;
  const piece = Buffer.alloc(64 * 1024);
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, bytes);
    if (bytesRead === 0) break;
    const read = piece.subarray(0, bytesRead);
    if (lines === 0) first = Buffer.concat([first, read]);
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, end + 1)) {
      lines += 1;
      if ((lines - 1) % BATCH_ROWS === 0) kept = bytes + end + 1;
    }
    bytes += bytesRead;
  }
  if (lines === 0) return { importId: undefined, kept: 0, rows: 0 };
  const head = parseHead(first.subarray(0, first.indexOf(10)).toString());
  if (head === undefined) throw new UsageError(`--results ${path} is another file: name a new one.`);
  if (head.tenantId !== tenantId) {
    throw new UsageError(`--results ${path} has the results of an import into another tenant: name a new file.`);
  }
  return { importId: head.importId, kept, rows: Math.floor((lines - 1) / BATCH_ROWS) * BATCH_ROWS };
}

function parseHead(line: string): { readonly importId: string; readonly tenantId: string } | undefined {
  try {
    const head: Json = JSON.parse(line);
    if (!isJsonObject(head)) return undefined;
    const { import_id: importId, tenant_id: tenantId } = head;
    return typeof importId === "string" && typeof tenantId === "string" ? { importId, tenantId } : undefined;
  } catch {
    return undefined;
  }
}

/** @throws {UsageError} if another run has it, or there can be none. */
function takeLock(path: string): RunLock {
  const lock = `${path}.lock`;
  let taken: RunLock | undefined;
  try {
    taken = RunLock.tryTake(lock);
  } catch {
    throw new UsageError(
      `--results ${path} cannot be written: ${lock} must be a new or an empty file, in a folder that this user may write to.`,
    );
  }
  if (!taken) throw new UsageError(`--results ${path} is written by another run.`);
  return taken;
}
