import type { Authenticator } from "../access/authenticate.js";
import type { Caller } from "../access/caller.js";
import type { AuditContext } from "../audit/audit-context.js";
import { Fault } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import type { TenantFunction } from "../functions/function-runner.js";
import { runTimeoutMs } from "../functions/runtime.js";
import type { Formula } from "./formula.js";
import { typedConfiguration } from "./formula-contract.js";
import type { Reactor } from "./reactor.js";

/**
 * A reactor as a function of the sandbox: its own code or its formula's, with the configuration typed as the formula
 * declares.
 * @throws {Fault} validation_failed for a configuration that the formula, changed since, does not accept.
 */
export function reactorFunction(
  tenantId: TenantId,
  reactor: Reactor,
  formula: Formula | undefined,
  application: Caller | undefined,
): TenantFunction {
  return {
    tenantId,
    id: reactor.id,
    kind: formula ? "formula" : "reactor",
    code: reactor.code.kind === "code" ? reactor.code.code : (formula?.code ?? ""),
    application,
    configuration: formula ? typedConfiguration(formula, reactor.configuration) : reactor.configuration,
    version: reactor.revision * 1_000_000 + (formula?.revision ?? 0),
    timeoutMs: runTimeoutMs(reactor.runtime),
  };
}

/**
 * The application that the code of a reactor acts as; undefined if it has none.
 * @param request that the code runs for: its context, and the revision that its transaction has confirmed.
 * @throws {Fault} permission_denied if it was deleted: code does not fall back to its caller's rights.
 */
export async function reactorApplication(
  authenticator: Authenticator,
  tenantId: TenantId,
  { id, applicationId }: Reactor,
  request: Pick<Caller, "context" | "revision">,
): Promise<Caller | undefined> {
  if (applicationId === undefined) return undefined;
  const acting: AuditContext = { ...request.context, via: { type: "reactor", id } };
  const application = await authenticator.application(tenantId, applicationId, acting, request.revision);
  if (!application) throw new Fault("permission_denied", "The application of this reactor does not exist any more.");
  return application;
}
