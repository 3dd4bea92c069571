import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebFile } from "./web-build.js";

/** Cacheable forever, because the path contains a hash of the content. */
export const IMMUTABLE = "public, max-age=31536000, immutable";

/** Sends a file in the best encoding that it has and the browser accepts. The caller sets its other headers. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: WebFile): FastifyReply {
  const accepted = acceptedEncodings(request.headers["accept-encoding"]);
  reply.header("vary", "Accept-Encoding").type(file.type);
  if (file.br && accepted.has("br")) return reply.header("content-encoding", "br").send(file.br);
  if (file.gzip && accepted.has("gzip")) return reply.header("content-encoding", "gzip").send(file.gzip);
  return reply.send(file.content);
}

/** Browsers list encodings without weights; `q=0` refuses one (RFC 9110, 12.5.3). */
function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string | undefined> {
  const offers = String(header ?? "")
    .toLowerCase()
    .split(",")
    .map((offer) => offer.trim().split(/\s*;\s*q\s*=\s*/));
  return new Set(offers.filter(([, weight = "1"]) => Number(weight) > 0).map(([name]) => name));
}
