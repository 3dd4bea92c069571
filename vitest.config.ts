import { configDefaults, defineConfig } from "vitest/config";
import { LongFilesEarly } from "./test/support/long-files-early.js";
import { PATIENCE_MS } from "./test/support/patience.js";
import { missingPrograms } from "./test/support/requirements.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, "test/engine/**", ...missingPrograms(".").flatMap(({ files }) => files)],
    globalSetup: [
      "test/support/report-skipped-files.ts",
      "test/support/report-late-files.ts",
      "test/payments/standins/install-oracles.ts",
      "test/support/global-setup.ts",
      "test/sandbox/support/image.ts",
    ],
    // The files of a worker share its process and what they import: 0.2 s of processor time less for each file.
    isolate: false,
    sequence: { sequencer: LongFilesEarly },
    // Files wait for servers, databases and deadlines as much as they compute: with four at once, two idle processors had
    // nothing to do for a fifth of the time, and with five for a sixth. A worker takes 0.7 GB by the end of a run.
    maxWorkers: 6,
    // Workers live for minutes and allocate much that is garbage at once: with V8's own 16 MB for it, collecting took a
    // tenth more of their processor time.
    execArgv: ["--min-semi-space-size=16", "--max-semi-space-size=32"],
    // The same holds for the cases of one file that run at once: they wait for answers that do not come.
    maxConcurrency: 32,
    // Bounds for what hangs, not for what is slow: a machine with ten times the work needs ten times as long.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: PATIENCE_MS } },
    setupFiles: ["test/support/wait-patiently.ts"],
  },
});
