import { configDefaults, defineConfig } from "vitest/config";
import { LongWaitsEarly } from "./test/support/long-waits-early.js";
import { missingPrograms } from "./test/support/requirements.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, "test/engine/**", ...missingPrograms(".").flatMap(({ files }) => files)],
    globalSetup: [
      "test/support/report-skipped-files.ts",
      "test/support/global-setup.ts",
      "test/sandbox/support/image.ts",
    ],
    // The files of a worker share its process and what they import: 0.2 s of processor time less for each file.
    isolate: false,
    sequence: { sequencer: LongWaitsEarly },
    // Files wait for servers, databases and deadlines as much as they compute: two for each of two processors keep both busy.
    maxWorkers: 4,
    // The same holds for the cases of one file that run at once: they wait for answers that do not come.
    maxConcurrency: 32,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
