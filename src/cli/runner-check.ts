import { createSandbox } from "../sandbox/sandbox.js";

/** A loaded machine takes a second; this is for one that never does. */
const START_MS = 10_000;

/** Starts the runner of tenants' code once. Returns why it does not start, or undefined if it does. */
export async function runnerTrouble(): Promise<string | undefined> {
  const ended = Promise.withResolvers<false>();
  const sandbox = createSandbox({ threads: 1, onIncident: () => ended.resolve(false) });
  try {
    if (await Promise.race([sandbox.isReady(START_MS), ended.promise])) return undefined;
    const cause = sandbox.problem ?? `not ready after ${START_MS / 1_000} s`;
    return `Tenants' code does not run, because its runner does not start: ${cause}`;
  } finally {
    await sandbox.close();
  }
}
