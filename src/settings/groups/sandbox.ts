import { defaultLimits } from "../../sandbox/limits.js";
import { optionalWhole, whole } from "../setting.js";

const MB = 1024 * 1024;
const { wallMs, memoryBytes } = defaultLimits("reactor");

export const SANDBOX = {
  SANDBOX_THREADS: optionalWhole("by processors", [1, 64], "Threads that run tenants' code."),
  // Runs without a waiting caller have a lease of 60 s. Queueing and run together must end before another replica takes
  // the run over.
  SANDBOX_TIMEOUT_MS: whole(wallMs, [100, 30_000], "Longest run of tenants' code, in milliseconds."),
  SANDBOX_MEMORY_MB: whole(memoryBytes / MB, [16, 1_024], "Memory that one run may allocate, in MB."),
};
