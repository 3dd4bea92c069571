// tsc does not carry the migrations over.
import { cpSync } from "node:fs";

cpSync("src/store/migrations", "dist/src/store/migrations", { recursive: true });
