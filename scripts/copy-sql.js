// Copies files that the server reads at run time and that tsc ignores.
import { cpSync } from "node:fs";

cpSync("src/store/migrations", "dist/src/store/migrations", { recursive: true });
cpSync("gen/openapi.json", "dist/gen/openapi.json");
