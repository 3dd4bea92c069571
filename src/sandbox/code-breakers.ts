import { performance } from "node:perf_hooks";
import { CircuitBreaker } from "./circuit-breaker.js";
import type { Breakers, SandboxIncident } from "./options.js";
import type { CodeSource } from "./run.js";

/** The function id of compilations: their code may belong to no function yet. */
const COMPILING = "compile";

/** The code of a compilation, for the circuit breakers. */
export function compilationSource(tenantId: string): CodeSource {
  return { tenantId, functionId: COMPILING };
}

export interface BreakerHooks {
  readonly onIncident: (incident: SandboxIncident) => void;
  /** The compilations of a tenant are refused for a while. */
  readonly onCompilationsHeld: (tenantId: string) => void;
}

/** The circuit breakers of tenants' code: of each function, of each tenant's compilations, and of each tenant. */
export class CodeBreakers {
  readonly #byFunction: CircuitBreaker;
  readonly #byTenant: CircuitBreaker;
  readonly #hooks: BreakerHooks;

  constructor({ byFunction, byTenant }: Breakers, hooks: BreakerHooks) {
    const now = () => performance.now();
    this.#byFunction = new CircuitBreaker(byFunction, now);
    this.#byTenant = new CircuitBreaker(byTenant, now);
    this.#hooks = hooks;
  }

  /** Counts a thread that had to be ended, or a response that the code corrupted. */
  fail({ tenantId, functionId }: CodeSource): void {
    const { onIncident, onCompilationsHeld } = this.#hooks;
    if (this.#byFunction.fail(`${tenantId} ${functionId}`)) {
      onIncident({ type: "function_held", tenantId, functionId });
      if (functionId === COMPILING) onCompilationsHeld(tenantId);
    }
    if (this.#byTenant.fail(tenantId)) onIncident({ type: "tenant_held", tenantId });
  }

  /** Milliseconds until the code may run again; 0 if it may run now. */
  heldMs({ tenantId, functionId }: CodeSource): number {
    return Math.max(this.#byFunction.openFor(`${tenantId} ${functionId}`), this.#byTenant.openFor(tenantId));
  }
}
