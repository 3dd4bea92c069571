// What the server reads at run time and tsc does not carry over.
import { cpSync } from "node:fs";

cpSync("src/store/migrations", "dist/src/store/migrations", { recursive: true });
cpSync("gen/openapi.json", "dist/gen/openapi.json");
