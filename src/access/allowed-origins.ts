import { invalid } from "../base/fault.js";
import type { ApplicationType } from "./permissions.js";

/** Browsers treat these hosts as secure without TLS (W3C Secure Contexts, 3.1). */
const LOOPBACK = /^(?:localhost|[^.]+(?:\.[^.]+)*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * An origin is compared as a browser writes it, so only this spelling is accepted.
 * @throws {Fault} validation_failed naming `allowed_origins`.
 */
export function parseAllowedOrigins(type: ApplicationType, texts: readonly string[]): readonly string[] {
  if (texts.length > 0 && type !== "public") {
    throw invalid("allowed_origins", "must be empty: only public applications have pages");
  }
  for (const [index, text] of texts.entries()) {
    const problem = originProblem(text) ?? (texts.indexOf(text) < index ? "must not repeat an origin" : undefined);
    if (problem) throw invalid(`allowed_origins[${index}]`, problem);
  }
  return texts;
}

function originProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || /[*\s;,]/.test(text)) {
    return "must be an origin without a wildcard, such as https://shop.example.com";
  }
  if (url.origin !== text) return `must be written as browsers do: ${url.origin}`;
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname)) return "must use https, except on localhost";
  return undefined;
}
