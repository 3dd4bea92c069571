// Copies files that the server reads at run time and that tsc ignores.
import { cpSync, rmSync } from "node:fs";

// What is no longer in the source must not run.
rmSync("dist/src/store/migrations", { recursive: true, force: true });
cpSync("src/store/migrations", "dist/src/store/migrations", { recursive: true });
