export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
}

/** Splits text that arrives in chunks into lines of limited length. */
export class LineSplitter {
  readonly #maxCharacters: number;
  #rest = "";

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  /** The lines that end in this chunk, without line ends. @throws {LineTooLong} */
  push(piece: string): string[] {
    const lines = `${this.#rest}${piece}`.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of [...lines, this.#rest]) if (line.length > this.#maxCharacters) throw new LineTooLong();
    return lines.map(withoutReturn);
  }

  /** What follows the last line end; undefined if nothing does. */
  end(): string | undefined {
    const last = withoutReturn(this.#rest);
    this.#rest = "";
    return last === "" ? undefined : last;
  }
}

/** Yields the lines of a stream as they arrive. @throws {LineTooLong} */
export async function* readLines(input: AsyncIterable<Buffer | string>, maxCharacters: number): AsyncGenerator<string> {
  const splitter = new LineSplitter(maxCharacters);
  const decoder = new TextDecoder();
  for await (const piece of input) {
    yield* splitter.push(typeof piece === "string" ? piece : decoder.decode(piece, { stream: true }));
  }
  const last = splitter.end();
  if (last !== undefined) yield last;
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
