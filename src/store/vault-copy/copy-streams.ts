import type { Writable } from "node:stream";
import type { Sql } from "../connect.js";

/**
 * The rows of a query as PostgreSQL's COPY writes them as text, in pieces. The connection's next statement may follow once
 * the last piece was taken.
 */
export async function* copyOut(sql: Sql, query: string): AsyncGenerator<Uint8Array> {
  const stream = await sql.unsafe(`copy (${query}) to stdout`).readable();
  const pieces: AsyncIterable<Uint8Array> = stream;
  yield* pieces;
  // The client (3.4.9) pauses its socket when a piece fills the stream, and lets it go on when it is read from again: never
  // where that was the last piece, and whatever is asked next would wait for ever.
  stream._read(0);
}

/**
 * Fills a table from such pieces, in an open transaction, which is to be rolled back when this throws.
 * @param into the table with its columns, quoted.
 * @throws what the pieces throw, or what the database says of them.
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
  // The client (3.4.9) tells a stream that has ended of no error, so that its finish cannot be waited for. Every piece is
  // written by now: the end goes out at once, and the statement behind it fails where the copy was refused.
  stream.end();
  await sql.unsafe("select");
}

function write(stream: Writable, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(piece, (error) => (error ? reject(stream.errored ?? error) : resolve()));
  });
}
