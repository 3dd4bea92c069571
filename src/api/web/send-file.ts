import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebFile } from "./web-build.js";

/** Cacheable forever, because the path contains a hash of the content. */
export const IMMUTABLE = "public, max-age=31536000, immutable";

/** Sends a file in the best encoding that the browser accepts. The caller sets its other headers. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: WebFile): FastifyReply {
  const encoding = encodingFor(request.headers["accept-encoding"]);
  reply.header("vary", "Accept-Encoding").type(file.type);
  if (encoding === undefined) return reply.send(file.content);
  return reply.header("content-encoding", encoding).send(encoding === "br" ? file.br : file.gzip);
}

/** Browsers list both, without weights; `q=0` refuses one (RFC 9110, 12.5.3). */
function encodingFor(header: string | string[] | undefined): "br" | "gzip" | undefined {
  const offers = String(header ?? "")
    .toLowerCase()
    .split(",")
    .map((offer) => offer.trim().split(/\s*;\s*q\s*=\s*/))
    .filter(([, weight = "1"]) => Number(weight) > 0)
    .map(([name]) => name);
  if (offers.includes("br")) return "br";
  return offers.includes("gzip") ? "gzip" : undefined;
}
