import { Reason } from "../base/fault.js";
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

/** Posts the result of a run to its callback address. Any 2xx takes it: returns undefined then, else why it was not taken. */
export async function postResult(
  agents: GuardedAgents,
  tenantId: TenantId,
  url: string,
  body: Json,
  signal: AbortSignal,
): Promise<EgressError | Reason | undefined> {
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
    const isTaken = response.status >= 200 && response.status < 300;
    return isTaken ? undefined : new Reason(`answered ${response.status}`);
  } catch (error) {
    if (error instanceof EgressError) return error;
    throw error;
  }
}
