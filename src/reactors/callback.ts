import type { TenantId } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";

/** Ten more times after the first, over two and a half hours (api-facts 8.2). */
export const RETRIES = 10;

/** 8.8 s, 17.6 s ... 75 min: together 2 h 30 min. Milliseconds after the failed attempt, counted from 0. */
export function retryDelay(attempt: number): number {
  return 8_800 * 2 ** attempt;
}

const PATIENCE_MS = 20_000;

/** Posts the result of a run to where its caller wants it. Answers whether it was taken: any 2xx says so. */
export async function postResult(
  agents: GuardedAgents,
  tenantId: TenantId,
  url: string,
  body: Json,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await guardedRequest(agents, {
      url,
      method: "POST",
      headers: [
        ["Content-Type", "application/json; charset=utf-8"],
        ["User-Agent", "Cloakroom"],
      ],
      body: Buffer.from(JSON.stringify(body)),
      pool: tenantId,
      signal,
      timeouts: { headersMs: PATIENCE_MS, bodyIdleMs: PATIENCE_MS },
    });
    response.body.destroy();
    return response.status >= 200 && response.status < 300;
  } catch (error) {
    if (error instanceof EgressError) return false;
    throw error;
  }
}
