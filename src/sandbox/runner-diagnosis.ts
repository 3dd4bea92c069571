import type { RunnerSettings } from "./runner/settings.js";
import { RunnerProcess } from "./runner-process.js";
import { FrameKind } from "./wire/frame.js";

/** A start takes some 150 ms. */
const WITHIN_MS = 5_000;

/**
 * Starts a runner that serves nothing, only to read the errors that it ends with: those that serve inherit nothing of
 * this process but their socket, which leaves their errors unread.
 * @returns undefined if this one starts.
 */
export async function whyRunnerDoesNotStart(
  { socketPath: _, ...settings }: RunnerSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const runner = new RunnerProcess(
    settings,
    {
      onFrame: ({ kind }) => kind === FrameKind.ready && resolve(undefined),
      onExit: ({ cause }) => resolve(cause),
    },
    "with errors",
  );
  const end = () => resolve(undefined);
  const timer = setTimeout(end, WITHIN_MS);
  signal.addEventListener("abort", end);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    runner.kill();
  }
}
