import { configDefaults, defineConfig } from "vitest/config";
import { sharedServerFiles } from "./test/engine/support/shared-server-files.js";
import { PATIENCE_MS } from "./test/support/patience.js";
import { missingPrograms } from "./test/support/requirements.js";

/** Tests of the API on a database that TEST_DATABASE_URL names: PostgreSQL, or the coordinator of a Citus cluster. */
export default defineConfig({
  test: {
    include: ["test/engine/**/*.test.ts", ...sharedServerFiles(".")],
    exclude: [...configDefaults.exclude, ...missingPrograms(".").flatMap(({ files }) => files)],
    globalSetup: ["test/engine/support/engine-setup.ts", "test/sandbox/support/image.ts"],
    maxWorkers: 3,
    maxConcurrency: 32,
    // Each statement goes through two servers, and the databases of a whole cluster may share a machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: PATIENCE_MS } },
    setupFiles: ["test/support/wait-patiently.ts"],
  },
});
