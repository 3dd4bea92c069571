import stream from "node:stream";
import { promisify } from "node:util";

type Finished = typeof stream.finished;

/** `require("stream")` with what the npm package lacks: `stream.promises`, and `finished` of a stream that has ended. */
export function createStreamModule(): { readonly promises: object } {
  const finished = finishedAtAnyTime(stream.finished);
  const promises = { finished: promisify(finished), pipeline: promisify(stream.pipeline) };
  return Object.assign(stream, { finished, promises });
}

/** The package calls back for later ends only. */
function finishedAtAnyTime(later: Finished): Finished {
  const finished = (observed: unknown, ...args: unknown[]): unknown => {
    const callback = args.at(-1);
    const sides = args.length > 1 ? Object(args[0]) : {};
    if (typeof callback !== "function" || !hasEnded(Object(observed), sides))
      return Reflect.apply(later, undefined, [observed, ...args]);
    let isCancelled = false;
    queueMicrotask(() => {
      if (!isCancelled) callback();
    });
    return () => {
      isCancelled = true;
    };
  };
  return Object.assign(finished, later);
}

function hasEnded(observed: Record<string, unknown>, sides: Record<string, unknown>): boolean {
  const { _writableState: writing, _readableState: reading } = observed;
  const isWritten = !writing || sides.writable === false || Object(writing).finished === true;
  const isRead = !reading || sides.readable === false || Object(reading).endEmitted === true;
  return Boolean(writing ?? reading) && isWritten && isRead;
}
