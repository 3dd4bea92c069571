import type { Writable } from "node:stream";
import type { Sql } from "../postgres/connect.js";

/**
 * The rows of a query in the text format of PostgreSQL's COPY, in pieces. The connection's next statement may follow
 * once the last piece was taken.
 */
export async function* copyOut(sql: Sql, query: string): AsyncGenerator<Uint8Array> {
  const stream = await sql.unsafe(`copy (${query}) to stdout`).readable();
  const pieces: AsyncIterable<Uint8Array> = stream;
  yield* pieces;
  // The client (3.4.9) pauses its socket when a piece fills the stream, and resumes it on the next read. No read
  // follows the last piece, so the next query would wait forever.
  stream._read(0);
}

/**
 * Fills a table from such pieces in an open transaction, which the caller must roll back if this throws.
 * @param into the table with its columns, quoted.
 * @throws the error of `pieces`, or the database's error about them.
 */
export async function copyIn(sql: Sql, into: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const stream = await sql.unsafe(`copy ${into} from stdin`).writable();
  stream.on("error", () => {});
  try {
    for await (const piece of pieces) await write(stream, piece);
  } catch (error) {
    stream.destroy(error instanceof Error ? error : undefined);
    throw error;
  }
  // The client (3.4.9) reports no error to a stream that has ended, so awaiting its finish is unsafe. All pieces are
  // written by now: the end is sent at once, and the next statement fails if the copy was refused.
  stream.end();
  await sql.unsafe("select");
}

function write(stream: Writable, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(piece, (error) => (error ? reject(stream.errored ?? error) : resolve()));
  });
}
