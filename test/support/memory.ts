import type { ArrivedRequest, OpenResponse, WholeResponse } from "../../src/api/connection/exchange.js";
import { openMemory } from "../../src/api/request/open-memory.js";
import { newUuid, type TenantId, type Uuid } from "../../src/base/ids.js";
import { MemoryBudget } from "../../src/memory/memory-budget.js";
import type { Proof } from "../../src/memory/request-memory.js";

const MB = 1024 * 1024;

/** Reserves memory for a request as the server does, from its own budget unless another is given. */
export function withMemory(
  request: ArrivedRequest,
  response: OpenResponse & Pick<WholeResponse, "writableEnded">,
  budget: MemoryBudget = new MemoryBudget(5 * MB),
): void {
  const client = () => "127.0.0.1";
  openMemory({ memory: budget, readClient: client, readNetwork: client }, request, response);
}

/** The credentials of an application's key. */
export function keyProof(
  tenantId: TenantId,
  applicationId = newUuid(),
  sessionId?: Uuid,
): Extract<Proof, { kind: "key" }> {
  return { kind: "key", tenantId, applicationId, sessionId, party: "back end" };
}
