import { Reason } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { Json } from "../base/json.js";
import { EgressError } from "../egress/egress-error.js";
import type { GuardedAgents } from "../egress/guarded-agents.js";
import { guardedRequest } from "../egress/guarded-request.js";

/** Ten retries after the first attempt, over two and a half hours. */
const RETRIES = 10;

/**
 * Milliseconds to wait after a failed attempt, counted from 0: 8.8 s, 17.6 s ... 75 min, together 2 h 30 min. Undefined
 * after the last.
 */
export function retryDelay(attempt: number): number | undefined {
  return attempt < RETRIES ? 8_800 * 2 ** attempt : undefined;
}

/** For one attempt to deliver a result. */
export const CALLBACK_MS = 20_000;

export interface RunCallback {
  readonly tenantId: TenantId;
  readonly url: string;
  readonly body: Json;
}

/** Posts the result of a run to its callback address. Returns undefined for any 2xx, otherwise the error. */
export async function postResult(
  agents: GuardedAgents,
  { tenantId, url, body }: RunCallback,
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
      timeouts: { headersMs: CALLBACK_MS, bodyIdleMs: CALLBACK_MS },
    });
    response.body.destroy();
    const isTaken = response.status >= 200 && response.status < 300;
    return isTaken ? undefined : new Reason(`returned ${response.status}`);
  } catch (error) {
    if (error instanceof EgressError) return error;
    throw error;
  }
}
