import { Fault, invalid, Reason } from "../base/fault.js";
import type { TenantId } from "../base/ids.js";
import { CODE_CHARACTERS } from "../sandbox/limits.js";
import type { CompileProblem } from "../sandbox/run.js";
import { SandboxUnavailable } from "../sandbox/sandbox.js";

/** Finds the first syntax error of code without running it. */
export type CompileCode = (code: string) => Promise<CompileProblem | undefined>;

/** Compiles for a tenant: compilations share the sandbox among tenants, as runs do. */
export type CompileFor = (tenantId: TenantId) => CompileCode;

/**
 * Rejects code that does not compile when it is saved.
 * @throws {Fault} validation_failed for code that is too long; unprocessable with line and column for code that does
 * not compile; unavailable if the check is not possible now.
 */
export async function requireCompiling(compile: CompileCode, field: string, code: string): Promise<void> {
  requireShort(field, code);
  const problem = await compile(code).catch((error: unknown) => {
    if (!(error instanceof SandboxUnavailable)) throw error;
    throw error.heldMs === undefined ? cannotCompileNow() : heldFor(error.heldMs);
  });
  if (!problem) return;
  const text = `does not compile: ${problem.message} (line ${problem.line}, column ${problem.column})`;
  throw new Fault("unprocessable", `The code ${text}.`, { fields: { [field]: [text] } });
}

/** @throws {Fault} validation_failed for code that is too long to run. */
export function requireShort(field: string, code: string): void {
  if (code.length > CODE_CHARACTERS) throw invalid(field, `must have at most ${CODE_CHARACTERS} characters`);
}

function cannotCompileNow(): Fault {
  return new Fault("unavailable", "The code could not be checked now. Try again shortly.", {
    retryAfter: 1,
    cause: new Reason("the sandbox cannot compile now"),
  });
}

function heldFor(ms: number): Fault {
  const seconds = Math.ceil(ms / 1_000);
  return new Fault(
    "unavailable",
    `Code of this tenant repeatedly could not be stopped in time. No more is compiled for ${seconds} s.`,
    { retryAfter: seconds, cause: new Reason("the tenant's circuit breaker is open") },
  );
}
