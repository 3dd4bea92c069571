import { type FileHandle, link, open, readFile, rename, rm } from "node:fs/promises";
import { newUuid } from "../../base/ids.js";
import { isJsonObject, type Json } from "../../base/json.js";
import { FileExists, writeWholeFile } from "../../base/whole-file.js";
import { BATCH_ROWS } from "../../token-files/import-batch.js";
import { isDiskFullError } from "../new-file.js";
import { UsageError } from "../usage-error.js";

/**
 * The file with the result of each row, in their order, and the ids of import and tenant in its first line. It says where
 * a run goes on after a kill: at the last batch whose results are complete in it. Only its owner can read it.
 */
export class ImportResults implements AsyncDisposable {
  readonly importId: string;
  readonly rowsBefore: number;
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #lock: string;

  private constructor(file: FileHandle, path: string, importId: string, rowsBefore: number) {
    this.#file = file;
    this.#path = path;
    this.#lock = lockOf(path);
    this.importId = importId;
    this.rowsBefore = rowsBefore;
  }

  /** @throws {UsageError} if another run writes the file, or it has no results of an import into the tenant. */
  static async open(path: string, tenantId: string): Promise<ImportResults> {
    const lock = lockOf(path);
    await takeLock(lock, path);
    try {
      const file = await open(path, "a+", 0o600).catch(() => {
        throw new UsageError(`--results ${path} cannot be written.`);
      });
      const { importId, kept, rows } = await readStart(file, path, tenantId).catch(async (error: unknown) => {
        await file.close();
        throw error;
      });
      await file.truncate(kept);
      const results = new ImportResults(file, path, importId ?? newUuid(), rows);
      if (importId === undefined) await results.write([{ import_id: results.importId, tenant_id: tenantId }]);
      return results;
    } catch (error) {
      await rm(lock, { force: true });
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
    await rm(this.#lock, { force: true });
  }
}

function lockOf(path: string): string {
  return `${path}.lock`;
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

/** A lock that a killed run left is taken over. It is never without its pid, which would look like one that was left. */
async function takeLock(lock: string, path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await writeWholeFile(lock, (file) => file.writeFile(String(process.pid)));
      return;
    } catch (error) {
      if (!(error instanceof FileExists)) throw new UsageError(`--results ${path} cannot be written.`);
    }
    const owner = await ownerOf(lock);
    if (attempt > 1 || isRunning(owner) || !(await removeLeft(lock))) {
      throw new UsageError(`--results ${path} is written by another run (process ${owner}).`);
    }
  }
}

/** Removes the lock of a killed run, and no other: a run that saw it too may have replaced it meanwhile. */
async function removeLeft(lock: string): Promise<boolean> {
  const taken = `${lock}.${newUuid()}`;
  try {
    await rename(lock, taken);
  } catch {
    return true;
  }
  const isLeft = !isRunning(await ownerOf(taken));
  if (!isLeft) await link(taken, lock).catch(() => {});
  await rm(taken, { force: true });
  return isLeft;
}

async function ownerOf(lock: string): Promise<number> {
  return Number(await readFile(lock, "utf8").catch(() => "0"));
}

function isRunning(process_: number): boolean {
  if (process_ <= 0) return false;
  try {
    process.kill(process_, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
