import { type FileHandle, open } from "node:fs/promises";
import { terminal } from "../../base/terminal.js";
import type { TokenFile } from "../../token-files/records.js";
import { progressReporter } from "../progress.js";
import { UsageError } from "../usage-error.js";
import type { ApiCall } from "./api-call.js";
import { gpgReader } from "./gpg.js";
import { type PgpReader, PgpUnreadable, pgpReader } from "./pgp.js";

/** A file to import. What is encrypted in it exists in the clear in memory alone. */
export type ImportSource = TokenFile & AsyncDisposable;

const ENCRYPTED = /\.(?:pgp|gpg|asc)$/i;

/**
 * Opens a file. An encrypted one is read to its end first: only that authenticates it, and no row of a file that was cut
 * or changed may be imported.
 * @throws {UsageError} for a file that cannot be read.
 */
export async function openImportSource(call: ApiCall, path: string): Promise<ImportSource> {
  const key = call.text("pgp-key");
  const isEncrypted = key !== undefined || ENCRYPTED.test(path);
  const passphrase = await call.content("passphrase");
  const reader = key === undefined ? gpgReader : await pgpReader(key, passphrase?.replace(/\r?\n$/, ""));
  const file = await OpenFile.at(path);
  try {
    const source = isEncrypted ? await encryptedSource(file, reader) : plainSource(file);
    return { ...source, [Symbol.asyncDispose]: () => file[Symbol.asyncDispose]() };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

function plainSource(file: OpenFile): TokenFile {
  return { name: file.path, read: () => file.bytes("Import") };
}

async function encryptedSource(file: OpenFile, decrypt: PgpReader): Promise<TokenFile> {
  const { path } = file;
  const before = await file.version();
  try {
    for await (const _ of decrypt(file.bytes("Check")));
  } catch (error) {
    if (!(error instanceof PgpUnreadable)) throw error;
    throw new UsageError(`${path} ${error.message}. Nothing of it is imported.`);
  }
  return {
    name: path.replace(ENCRYPTED, ""),
    async *read() {
      try {
        if ((await file.version()) !== before) throw new PgpUnreadable("was changed");
        yield* decrypt(file.bytes("Import"));
      } catch (error) {
        if (!(error instanceof PgpUnreadable)) throw error;
        throw new UsageError(`${path} was changed during the import. The results say which rows are stored.`);
      }
    },
  };
}

const PIECE_BYTES = 64 * 1024;

/** The same file at every reading, whatever gets its name meanwhile. */
class OpenFile implements AsyncDisposable {
  readonly path: string;
  readonly #file: FileHandle;
  /** Streams read ahead, also what no reader needs. */
  #reading: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** @throws {UsageError} for what cannot be read, or is no file. */
  static async at(path: string): Promise<OpenFile> {
    const file = await open(path).catch(() => undefined);
    if (file && (await file.stat()).isFile()) return new OpenFile(path, file);
    await file?.close();
    throw new UsageError(`${path} cannot be read.`);
  }

  async version(): Promise<string> {
    const { size, mtimeNs } = await this.#file.stat({ bigint: true });
    return `${size} ${mtimeNs}`;
  }

  async *bytes(what: string): AsyncGenerator<Buffer> {
    const { size } = await this.#file.stat();
    const tell = progressReporter((line) => terminal().stderr.write(`${line}\n`), what, size, "bytes");
    for (let position = 0; !this.#isClosed; ) {
      const reading = this.#file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, position);
      this.#reading = reading.catch(() => {});
      const { bytesRead, buffer } = await reading;
      if (bytesRead === 0) return;
      position += bytesRead;
      tell(position);
      yield buffer.subarray(0, bytesRead);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#reading;
    await this.#file.close();
  }
}
