import { configDefaults, defineConfig } from "vitest/config";
import { missingPrograms } from "./test/support/requirements.js";
import { filesThatShareWorkers } from "./test/support/worker-sharing.js";

const exclude = [...configDefaults.exclude, "test/engine/**", ...missingPrograms(".").flatMap(({ files }) => files)];
const sharing = [...filesThatShareWorkers(".")];

const common = {
  // Files wait for servers and databases more than they compute: by the number of processors half the time is idle.
  maxWorkers: 4,
  // The same holds for the cases of one file that run at once: they wait for answers that do not come.
  maxConcurrency: 32,
  testTimeout: 30_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    // Once for both projects, which see the values that it provides.
    globalSetup: [
      "test/support/report-skipped-files.ts",
      "test/support/global-setup.ts",
      "test/sandbox/support/image.ts",
    ],
    maxWorkers: common.maxWorkers,
    projects: [
      { test: { ...common, name: "own process", include: ["test/**/*.test.ts"], exclude: [...exclude, ...sharing] } },
      { test: { ...common, name: "shared process", include: sharing, exclude, isolate: false } },
    ],
  },
});
