// Copies the two files of Swagger UI that /docs serves.
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";

for (const name of ["swagger-ui-bundle.js", "swagger-ui.css"]) {
  cpSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)), `dist/swagger-ui/${name}`);
}
