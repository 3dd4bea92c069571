import { Readable, Transform } from "node:stream";

/** A header for the wire: case and order are kept. */
export type HeaderPair = readonly [name: string, value: string];

/** Pairs from a list of alternating names and values, which is Node's raw form. */
export function headerPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return pairs;
}

export interface FramedRequest {
  readonly headers: readonly HeaderPair[];
  /** The body to send; a stream must match its announced length. */
  readonly body: Uint8Array | Readable | undefined;
}

/** Methods that need no Content-Length without a body (RFC 9110 8.6). */
const bodylessMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"]);

/**
 * Completes a header list. Everything stays as given except the four headers that decide where the request ends and
 * whom it is for: Host, Content-Length, Transfer-Encoding and Trailer follow from the URL and the body. A tenant who
 * could set them inconsistently could smuggle a second request into the body of the first. A Content-Length keeps its
 * position with the true number. A stream with an announced length must have it; one without is chunked.
 */
export function frameRequest(
  authority: string,
  method: string,
  given: readonly HeaderPair[],
  body: Uint8Array | Readable | undefined,
): FramedRequest {
  const promised = given.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  const length = bodyLength(body, promised);
  const headers: HeaderPair[] = [["Host", authority]];
  let lengthStands = false;
  for (const [name, value] of given) {
    const lower = name.toLowerCase();
    if (lower === "content-length" && length !== undefined && !lengthStands) {
      headers.push([name, String(length)]);
      lengthStands = true;
    }
    if (!framing.has(lower)) headers.push([name, value]);
  }
  if (length === undefined) headers.push(["Transfer-Encoding", "chunked"]);
  else if (!lengthStands && (length > 0 || !bodylessMethods.has(method))) {
    headers.push(["Content-Length", String(length)]);
  }
  return { headers, body: body instanceof Readable && length !== undefined ? body.pipe(exactly(length, body)) : body };
}

const framing: ReadonlySet<string> = new Set(["host", "content-length", "transfer-encoding", "trailer"]);

function bodyLength(body: Uint8Array | Readable | undefined, promised: string | undefined): number | undefined {
  if (body === undefined) return 0;
  if (!(body instanceof Readable)) return body.byteLength;
  return promised !== undefined && /^[0-9]{1,15}$/.test(promised) ? Number(promised) : undefined;
}

/** Passes a stream through and fails unless it has exactly `length` bytes. */
function exactly(length: number, source: Readable): Transform {
  let seen = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.byteLength;
      if (seen > length) done(new Error("The body is longer than its Content-Length."));
      else done(null, chunk);
    },
    flush(done) {
      done(seen === length ? null : new Error("The body is shorter than its Content-Length."));
    },
    destroy(error, done) {
      source.destroy();
      done(error);
    },
  });
  // pipe() forwards data but neither errors nor an early end.
  source.once("error", (error) => counter.destroy(error));
  source.once("close", () => {
    if (!source.readableEnded) counter.destroy(new Error("The body ended early."));
  });
  return counter;
}
