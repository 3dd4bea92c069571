/** Longer than any line: a restart of a chain can list a thousand findings. */
const MAX_LINE_LENGTH = 1024 * 1024;
const NEWLINE = 0x0a;

/** A file cannot be read any further. The message says why. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Yields lines with their line ends. @throws {Unreadable} for a line that is too long, or has no end. */
export async function* rawLines(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of input) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield bytes.subarray(start, end + 1);
      start = end + 1;
    }
    rest = bytes.subarray(start);
    if (rest.length > MAX_LINE_LENGTH) throw new Unreadable("a line is too long");
  }
  if (rest.length > 0) throw new Unreadable("the file ends in the middle of a line");
}
