import type { Finding } from "../audit/chain/findings.js";

/** One line of a list. */
export function describeFinding({ kind, minute, detail }: Finding): string {
  return `\n  ${minute?.toISOString().slice(0, 16) ?? "(no minute)"} ${kind}: ${detail}`;
}
