import { type FileRow, mappedRows } from "../../../../token-files/import-batch.js";
import { LAYOUTS } from "../../../../token-files/layouts.js";
import { detectFileFormat, readRecords, type TokenFile } from "../../../../token-files/records.js";
import { UnreadableFile } from "../../../../token-files/unreadable-file.js";

/** A file that a person chose, and whose layout it has. */
export interface ChosenFile {
  readonly file: File;
  /** Empty: columns are named like the fields of tokens. */
  readonly layout: string;
  /** Names an import of a file that was imported before. Empty: the first one. */
  readonly repetition: string;
}

/**
 * The rows of a file, read piece by piece.
 * @param onRead gets the bytes that are read so far.
 * @throws {UnreadableFile} for another kind of file.
 */
export function rowsIn({ file, layout }: ChosenFile, onRead: (bytes: number) => unknown): AsyncGenerator<FileRow> {
  const format = detectFileFormat(file.name);
  if (!format) throw new UnreadableFile("Choose a file whose name ends in .csv, .ndjson or .jsonl.");
  return mappedRows(readRecords(openTokenFile(file, onRead), format), LAYOUTS.get(layout), format);
}

function openTokenFile(file: File, onRead: (bytes: number) => unknown): TokenFile {
  return {
    name: file.name,
    async *read() {
      const reader = file.stream().getReader();
      try {
        for (let bytes = 0; ; ) {
          const { done, value } = await reader.read();
          if (done) return;
          bytes += value.byteLength;
          onRead(bytes);
          yield value;
        }
      } finally {
        await reader.cancel();
      }
    },
  };
}

/** What a browser throws for a file that was changed, moved or removed, in words for people. */
export function fileProblem(error: unknown): UnreadableFile | undefined {
  if (error instanceof UnreadableFile) return error;
  return error instanceof DOMException
    ? new UnreadableFile("The file was changed or moved. Choose it again.")
    : undefined;
}

/**
 * The same for the same file, also after a reload: batches that are stored already are then answered and not stored again,
 * for 30 days. The vault refuses bytes that changed under the same name, size and time.
 */
export function fileImportId({ file: { name, size, lastModified }, layout, repetition }: ChosenFile): string {
  return `console ${repetition} ${size} ${lastModified} ${layout} ${name}`.slice(0, MAX_ID);
}

const MAX_ID = 200;
