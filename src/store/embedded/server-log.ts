import { constants } from "node:fs";
import { type FileHandle, open, rm, writeFile } from "node:fs/promises";

/** The size in bytes at which the log is moved aside. */
const LOG_LIMIT = 10 * 1024 * 1024;
/** Before it reads its configuration PostgreSQL writes `postgres: could not ...`. */
const FAILURE = /(?:\b(?:FATAL|PANIC): {2}|^postgres: )(.*)/gm;
/** Backends of a killed server write this into the log of the next one. It would hide why that does not start. */
const POSTMASTER_GONE = /postmaster exit/;

/** Opens the file that receives PostgreSQL's stderr. Follows no link, because root may open the file of another user. */
export function openLog(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  return open(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
}

/** Moves the newest part of a log above the limit to `<log>.1`, and empties the log, which the server keeps open. */
export async function truncateLog(path: string, limit = LOG_LIMIT): Promise<void> {
  await using file = await openLog(path);
  const { size } = await file.stat();
  if (size <= limit) return;
  const older = await readFrom(file, size - limit, limit);
  await rm(`${path}.1`, { force: true });
  await writeFile(`${path}.1`, older, { mode: 0o600, flag: "wx" });
  await file.truncate(0);
}

/** The last message of a server's failure after the position `since`. */
export async function lastFailure(path: string, since: number): Promise<string | undefined> {
  await using file = await openLog(path);
  const { size } = await file.stat();
  const start = Math.max(since, size - 64 * 1024);
  const text = (await readFrom(file, start, Math.max(0, size - start))).toString("utf8");
  return [...text.matchAll(FAILURE)].findLast(([line]) => !POSTMASTER_GONE.test(line))?.[1];
}

async function readFrom(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
