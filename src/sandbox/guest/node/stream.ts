import stream from "node:stream";
import { promisify } from "node:util";

/** `require("stream")` with `stream.promises`, which the npm package lacks. */
export function createStreamModule(): { readonly promises: object } {
  const promises = { finished: promisify(stream.finished), pipeline: promisify(stream.pipeline) };
  return Object.assign(stream, { promises });
}
