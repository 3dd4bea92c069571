/** Where backups are kept. Errors are of the class BackupError, whose messages are for the operator. */
export interface BackupTarget {
  /** For messages. */
  readonly name: string;
  list(): Promise<readonly string[]>;
  /** Writes a new file, which is there whole or not at all. */
  write(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  read(name: string): AsyncIterable<Uint8Array>;
  /** Removes a file, if it is there. */
  remove(name: string): Promise<void>;
}
